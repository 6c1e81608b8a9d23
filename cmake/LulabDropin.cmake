# dropin/: libraries that stand where those of others stand. They lie in a folder of their own, for LD_LIBRARY_PATH.
option(LULAB_DROPIN "build the libraries of dropin/, which programs load in place of SuiteSparse's KLU"
  ${PROJECT_IS_TOP_LEVEL})
if(NOT LULAB_DROPIN OR LULAB_SANITIZE STREQUAL "fuzzer")
  return()
endif()
# The structures are those of this header, and programs ask for its version.
file(STRINGS ${SuiteSparse_INCLUDE_DIR}/klu.h klu_version REGEX "^#define KLU_MAIN_VERSION")
string(REGEX MATCH "[0-9]+" klu_version "${klu_version}")
set(lulab_dropin_dir ${PROJECT_BINARY_DIR}/dropin)
add_library(lulab_klu SHARED dropin/klu/factorization.cpp dropin/klu/klu.cpp dropin/klu/pattern.cpp)
lulab_setup_target(lulab_klu full)
target_link_libraries(lulab_klu PRIVATE lulab_driver SuiteSparse::KLU)
set_target_properties(lulab_klu PROPERTIES OUTPUT_NAME klu SOVERSION ${klu_version} LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${lulab_dropin_dir}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/dropin/klu/klu.map)
target_link_options(lulab_klu PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/dropin/klu/klu.map
  LINKER:-z,nodelete  # dlclose() leaves it: it has threads, and objects that are never destroyed
  $<$<NOT:$<BOOL:${LULAB_SANITIZE}>>:LINKER:--no-undefined>)  # a sanitizer's functions are those of the program
install(TARGETS lulab_klu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lulab/dropin COMPONENT development)
if(LULAB_TESTS)
  lulab_test(dropin_cpu_test cpu dropin/klu/klu_test.cpp)
  find_library(LULAB_SYSTEM_KLU NAMES klu)  # to compare with, where it is a shared library
  mark_as_advanced(LULAB_SYSTEM_KLU)
  set(system_klu ${LULAB_SYSTEM_KLU})
  if(NOT system_klu MATCHES "\\.so$")
    set(system_klu "")
  endif()
  target_include_directories(dropin_cpu_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(dropin_cpu_test SYSTEM PRIVATE ${SuiteSparse_INCLUDE_DIR})
  target_link_libraries(dropin_cpu_test PRIVATE fmt::fmt ${CMAKE_DL_LIBS} Threads::Threads)
  target_compile_definitions(dropin_cpu_test PRIVATE LULAB_KLU_LIBRARY="$<TARGET_FILE:lulab_klu>"
    LULAB_SYSTEM_KLU="${system_klu}" LULAB_KLU_HEADER="${SuiteSparse_INCLUDE_DIR}/klu.h")
  add_dependencies(dropin_cpu_test lulab_klu)
endif()
