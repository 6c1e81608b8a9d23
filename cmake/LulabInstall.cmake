# cmake --install, so that another project can say find_package(lulab) and link lulab::lulab.
include(CMakePackageConfigHelpers)
set(lulab_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lulab)

# lulab::lulab is what lulab.h needs; lulab::core, lulab::solve, ... are the rooms it is made of.
get_property(lulab_rooms GLOBAL PROPERTY LULAB_ROOMS)
list(REMOVE_ITEM lulab_rooms lulab_capi lulab_bench lulab_app lulab_examples)
add_library(lulab_all INTERFACE)
target_link_libraries(lulab_all INTERFACE lulab_driver lulab_verify lulab_registry)
target_include_directories(lulab_all INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(lulab_all PROPERTIES EXPORT_NAME lulab)
add_library(lulab::lulab ALIAS lulab_all)
foreach(room IN LISTS lulab_rooms)
  string(REPLACE "lulab_" "" name ${room})
  set_target_properties(${room} PROPERTIES EXPORT_NAME ${name})
endforeach()

install(CODE "set(lulab_source ${PROJECT_SOURCE_DIR})\nset(lulab_include ${CMAKE_INSTALL_INCLUDEDIR}/lulab)"
  COMPONENT development)
install(SCRIPT cmake/install_headers.cmake COMPONENT development)
install(TARGETS ${lulab_rooms} lulab_all EXPORT lulabTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT lulabTargets NAMESPACE lulab:: DESTINATION ${lulab_config_dir} COMPONENT development)
configure_package_config_file(cmake/lulabConfig.cmake.in ${PROJECT_BINARY_DIR}/lulabConfig.cmake
  INSTALL_DESTINATION ${lulab_config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lulabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lulabConfig.cmake ${PROJECT_BINARY_DIR}/lulabConfigVersion.cmake
  cmake/FindSuiteSparse.cmake cmake/FindMETIS.cmake cmake/FindSCOTCH.cmake
  DESTINATION ${lulab_config_dir} COMPONENT development)
install(TARGETS lulab RUNTIME COMPONENT program)

if(LULAB_TESTS AND NOT LULAB_SANITIZE)
  add_test(NAME cpu/install.FindPackageFactorsAMatrix
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -D WORK=${PROJECT_BINARY_DIR}/install_test
      -D COMPILER=${CMAKE_CXX_COMPILER} -D C_COMPILER=${CMAKE_C_COMPILER}
      -P ${PROJECT_SOURCE_DIR}/cmake/install_test/run.cmake)
  set_tests_properties(cpu/install.FindPackageFactorsAMatrix PROPERTIES LABELS cpu TIMEOUT 300)
endif()
