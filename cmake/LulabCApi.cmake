# liblulab.so: the C interfaces of capi/ and verify/ with all that they need; only lulab_* is visible. Its examples, its
# pkg-config file and its man pages.
file(STRINGS capi/lulab.h lulab_abi REGEX "^#define LULAB_ABI ")
string(REGEX REPLACE ".* " "" lulab_abi "${lulab_abi}")
target_compile_definitions(lulab_capi PRIVATE LULAB_VERSION="${PROJECT_VERSION}")
add_library(lulab_shared SHARED $<TARGET_OBJECTS:lulab_capi>)
set_target_properties(lulab_shared PROPERTIES OUTPUT_NAME lulab EXPORT_NAME c LINKER_LANGUAGE CXX
  SOVERSION ${lulab_abi} VERSION ${lulab_abi}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/capi/lulab.map BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
target_link_libraries(lulab_shared PRIVATE lulab_driver lulab_verify lulab_flags)
target_link_options(lulab_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/capi/lulab.map
  LINKER:--undefined=lulab_judge  # so that the linker takes it from lulab_verify, of which capi/ needs nothing
  LINKER:-z,nodelete  # dlclose() leaves it: it has threads, and objects that are never destroyed
  $<$<NOT:$<BOOL:${LULAB_SANITIZE}>>:LINKER:--no-undefined>)  # a sanitizer's functions are those of the program
target_include_directories(lulab_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/capi>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/verify>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(lulab::c ALIAS lulab_shared)

foreach(example IN ITEMS solve judge)
  set(program lulab-${example}-from-c)
  add_executable(${program} examples/${example}_from_c/main.c)
  set_target_properties(${program} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  target_compile_options(${program} PRIVATE -Wall -Wextra -pedantic -Werror)
  target_link_libraries(${program} PRIVATE lulab_shared $<$<BOOL:${LULAB_SANITIZE}>:lulab_flags> m)
endforeach()
if(TARGET capi_cpu_test)
  add_dependencies(capi_cpu_test lulab-solve-from-c lulab-judge-from-c)
  add_dependencies(examples_cpu_test lulab-judge-from-c)
  target_compile_definitions(capi_cpu_test PRIVATE LULAB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LULAB_SHARED_LIBRARY="$<TARGET_FILE:lulab_shared>")
  target_link_libraries(capi_cpu_test PRIVATE ${CMAKE_DL_LIBS})
endif()

set(lulab_c_headers capi/lulab.h verify/lulab_judge.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lulab_c_headers})
# One page for all functions of a header, and a name for each.
foreach(header IN LISTS lulab_c_headers)
  get_filename_component(page ${header} NAME_WE)
  file(STRINGS ${header} declarations REGEX "^LULAB_API ")
  foreach(declaration IN LISTS declarations)
    string(REGEX REPLACE ".*(lulab_[a-z_]+)\\(.*" "\\1" function "${declaration}")
    if(NOT function STREQUAL page)
      file(CONFIGURE OUTPUT man3/${function}.3 CONTENT ".so man3/${page}.3\n")
      list(APPEND lulab_man_pages ${PROJECT_BINARY_DIR}/man3/${function}.3)
    endif()
  endforeach()
endforeach()
# Where it lies, not where it was configured to: cmake --install --prefix moves it.
file(RELATIVE_PATH lulab_prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(capi/lulab.pc.in ${PROJECT_BINARY_DIR}/lulab.pc @ONLY)

install(TARGETS lulab_shared EXPORT lulabCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT lulabCTargets NAMESPACE lulab:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lulab COMPONENT development)
install(FILES ${lulab_c_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/lulab.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES capi/man/lulab.3 capi/man/lulab_judge.3 ${lulab_man_pages}
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
install(FILES capi/man/lulab.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
