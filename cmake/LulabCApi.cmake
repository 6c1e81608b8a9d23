# liblulab.so: the C interface of capi/ with all that it needs; only lulab_* is visible. Its example, its pkg-config
# file and its man pages.
set(lulab_abi 1)  # LULAB_ABI of capi/lulab.h
target_compile_definitions(lulab_capi PRIVATE LULAB_VERSION="${PROJECT_VERSION}")
add_library(lulab_shared SHARED $<TARGET_OBJECTS:lulab_capi>)
set_target_properties(lulab_shared PROPERTIES OUTPUT_NAME lulab EXPORT_NAME c LINKER_LANGUAGE CXX
  SOVERSION ${lulab_abi} VERSION ${lulab_abi}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/capi/lulab.map BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
target_link_libraries(lulab_shared PRIVATE lulab_driver lulab_registry lulab_flags)
target_link_options(lulab_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/capi/lulab.map
  $<$<NOT:$<BOOL:${LULAB_SANITIZE}>>:LINKER:--no-undefined>)  # a sanitizer's functions are those of the program
target_include_directories(lulab_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/capi>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(lulab::c ALIAS lulab_shared)

add_executable(lulab-solve-from-c examples/solve_from_c/main.c)
set_target_properties(lulab-solve-from-c PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_compile_options(lulab-solve-from-c PRIVATE -Wall -Wextra -pedantic -Werror)
target_link_libraries(lulab-solve-from-c PRIVATE lulab_shared $<$<BOOL:${LULAB_SANITIZE}>:lulab_flags> m)
if(TARGET capi_cpu_test)
  add_dependencies(capi_cpu_test lulab-solve-from-c)
  target_compile_definitions(capi_cpu_test PRIVATE LULAB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LULAB_SHARED_LIBRARY="$<TARGET_FILE:lulab_shared>")
  target_link_libraries(capi_cpu_test PRIVATE ${CMAKE_DL_LIBS})
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS capi/lulab.h)
# One page for all functions, and a name for each.
file(STRINGS capi/lulab.h declarations REGEX "^LULAB_API ")
foreach(declaration IN LISTS declarations)
  string(REGEX REPLACE ".*(lulab_[a-z_]+)\\(.*" "\\1" function "${declaration}")
  file(CONFIGURE OUTPUT man3/${function}.3 CONTENT ".so man3/lulab.3\n")
  list(APPEND lulab_man_pages ${PROJECT_BINARY_DIR}/man3/${function}.3)
endforeach()
configure_file(capi/lulab.pc.in ${PROJECT_BINARY_DIR}/lulab.pc @ONLY)

install(TARGETS lulab_shared EXPORT lulabCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT lulabCTargets NAMESPACE lulab:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lulab COMPONENT development)
install(FILES capi/lulab.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/lulab.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES capi/man/lulab.3 ${lulab_man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
install(FILES capi/man/lulab.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
