# The labs: the program that checks them, and their gates as tests. labs/labs.py links this program again with a
# student's file in front of the libraries. Not with AddressSanitizer nor where lines are counted: the gates compile
# with the flags of this build.
if(LULAB_TESTS AND NOT LULAB_CUDA AND NOT CMAKE_CXX_FLAGS_DEBUG MATCHES "--coverage"
   AND (LULAB_SANITIZE STREQUAL "thread" OR NOT LULAB_SANITIZE))
  file(GLOB lab_checks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/labs/*.cpp ${PROJECT_SOURCE_DIR}/labs/*.cu)
  add_executable(labs_simt_test ${lab_checks})
  lulab_kernel_sources(${lab_checks})
  lulab_setup_target(labs_simt_test test)
  target_link_libraries(labs_simt_test PRIVATE lulab_verify lulab_registry lulab_solve GTest::gtest)
  find_package(Python3 COMPONENTS Interpreter)
  file(GLOB labs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/labs/[0-9][0-9]_*.json)
  if(NOT Python3_FOUND)
    set(labs)
  endif()
  foreach(lab IN LISTS labs)
    file(READ ${lab} description)
    # Else its callers in a group, compiled at -O3, might rely on what it was.
    string(JSON file GET "${description}" file)
    if(file MATCHES "\\.cpp$")
      set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(LULAB_SANITIZE STREQUAL "thread" AND description MATCHES "\"races\": null")
      continue()
    endif()
    get_filename_component(name ${lab} NAME_WE)
    add_test(NAME sim/labs.${name}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/labs/gates_test.py ${PROJECT_BINARY_DIR} ${name})
    set_tests_properties(sim/labs.${name} PROPERTIES LABELS sim TIMEOUT 300 COST 30)  # begun first
  endforeach()
  if(labs AND NOT LULAB_SANITIZE)
    foreach(name driver services)
      add_test(NAME sim/labs.${name}
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/labs/${name}_test.py ${PROJECT_BINARY_DIR})
      set_tests_properties(sim/labs.${name} PROPERTIES LABELS sim TIMEOUT 300 COST 30)  # begun first
    endforeach()
    add_test(NAME sim/labs.grading
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/labs/grading.py --build ${PROJECT_BINARY_DIR}
        --sample 8 --no-races --jobs 1)
    set_tests_properties(sim/labs.grading PROPERTIES LABELS sim TIMEOUT 300 COST 30)  # begun first
  endif()
endif()
