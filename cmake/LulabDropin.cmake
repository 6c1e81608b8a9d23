# dropin/: libraries that stand where those of others stand. They lie in a folder of their own, for LD_LIBRARY_PATH.
option(LULAB_DROPIN "build the libraries of dropin/, which programs load in place of KLU and of LAPACK's LU"
  ${PROJECT_IS_TOP_LEVEL})
if(NOT LULAB_DROPIN)
  return()
endif()
# The structures are those of this header, and programs ask for its version.
file(STRINGS ${SuiteSparse_INCLUDE_DIR}/klu.h klu_version REGEX "^#define KLU_MAIN_VERSION")
string(REGEX MATCH "[0-9]+" klu_version "${klu_version}")
set(lulab_dropin_dir ${PROJECT_BINARY_DIR}/dropin)
# lulab_dropin(name sources...): the library lulab_NAME of dropin/NAME/. It exports what NAME.map lists.
function(lulab_dropin name)
  set(map ${PROJECT_SOURCE_DIR}/dropin/${name}/${name}.map)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/dropin/${name}/ OUTPUT_VARIABLE sources)
  add_library(lulab_${name} SHARED ${sources})
  lulab_setup_target(lulab_${name} full)
  set_target_properties(lulab_${name} PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${lulab_dropin_dir}
    LINK_DEPENDS ${map})
  target_link_options(lulab_${name} PRIVATE LINKER:--version-script=${map}
    LINKER:-z,nodelete  # dlclose() leaves it: it has threads, and objects that are never destroyed
    $<$<NOT:$<BOOL:${LULAB_SANITIZE}>>:LINKER:--no-undefined>)  # a sanitizer's functions are those of the program
  install(TARGETS lulab_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lulab/dropin COMPONENT development)
endfunction()
lulab_dropin(klu factorization.cpp klu.cpp pattern.cpp)
target_link_libraries(lulab_klu PRIVATE lulab_driver SuiteSparse::KLU)
set_target_properties(lulab_klu PROPERTIES OUTPUT_NAME klu SOVERSION ${klu_version})
if(LULAB_SANITIZE STREQUAL "fuzzer")
  return()  # no target of fuzz/ calls what follows
endif()
lulab_dropin(lapack lapack.cpp)
target_link_libraries(lulab_lapack PRIVATE lulab_dense)
find_library(LULAB_SYSTEM_KLU NAMES klu)  # to compare with, where it is a shared library
find_library(LULAB_SYSTEM_CHOLMOD NAMES cholmod)
mark_as_advanced(LULAB_SYSTEM_KLU LULAB_SYSTEM_CHOLMOD)
set(system_klu ${LULAB_SYSTEM_KLU})
if(NOT system_klu MATCHES "\\.so$")
  set(system_klu "")
endif()
# A program that loads the system's library, or ours, which has the same name.
set(klu_program "")
if(system_klu AND EXISTS ${system_klu}.${klu_version} AND LULAB_SYSTEM_CHOLMOD MATCHES "\\.so$"
    AND EXISTS ${SuiteSparse_INCLUDE_DIR}/cholmod.h)
  add_executable(lulab-klu-program ${PROJECT_SOURCE_DIR}/examples/klu_program/main.c)
  set_target_properties(lulab-klu-program PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(lulab-klu-program PRIVATE -Wall -Wextra -Werror)
  target_include_directories(lulab-klu-program SYSTEM PRIVATE ${SuiteSparse_INCLUDE_DIR})
  target_link_libraries(lulab-klu-program PRIVATE ${system_klu} ${LULAB_SYSTEM_CHOLMOD} m
    $<$<BOOL:${LULAB_SANITIZE}>:lulab_flags>)
  target_link_options(lulab-klu-program PRIVATE LINKER:--enable-new-dtags)  # so that LD_LIBRARY_PATH comes first
  set(klu_program $<TARGET_FILE:lulab-klu-program>)
endif()
if(LULAB_TESTS)
  set(label cpu)
  if(LULAB_SANITIZE STREQUAL "thread")
    set(label threads)
  endif()
  lulab_test(dropin_cpu_test ${label} dropin/klu/klu_test.cpp dropin/lapack/lapack_test.cpp)
  target_include_directories(dropin_cpu_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(dropin_cpu_test SYSTEM PRIVATE ${SuiteSparse_INCLUDE_DIR})
  target_link_libraries(dropin_cpu_test PRIVATE fmt::fmt ${CMAKE_DL_LIBS} Threads::Threads)
  target_link_options(dropin_cpu_test PRIVATE LINKER:--export-dynamic-symbol=xerbla_)  # which LAPACK calls
  target_compile_definitions(dropin_cpu_test PRIVATE LULAB_LAPACK_LIBRARY="$<TARGET_FILE:lulab_lapack>"
    LULAB_FOR_GPU=$<BOOL:${LULAB_CUDA}> LULAB_KLU_LIBRARY="$<TARGET_FILE:lulab_klu>"
    LULAB_SYSTEM_KLU="${system_klu}" LULAB_KLU_PROGRAM="${klu_program}"
    LULAB_KLU_HEADER="${SuiteSparse_INCLUDE_DIR}/klu.h")
  add_dependencies(dropin_cpu_test lulab_klu lulab_lapack)
  if(TARGET lulab-klu-program)
    add_dependencies(dropin_cpu_test lulab-klu-program)
  endif()
endif()
