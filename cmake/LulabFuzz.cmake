# The targets of fuzz/ for libFuzzer: fuzz/NAME.cpp becomes the program fuzz_NAME. Only with the preset fuzz.
if(NOT LULAB_SANITIZE STREQUAL "fuzzer")
  return()
endif()
add_custom_target(fuzz)
file(GLOB targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS targets)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  lulab_setup_target(fuzz_${name} full)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE lulab_core)
  add_dependencies(fuzz fuzz_${name})
endforeach()
# What reads files for the program, without the program; judges, without the rungs that `verify` runs.
file(GLOB judges ${PROJECT_SOURCE_DIR}/verify/*.cpp)
list(FILTER judges EXCLUDE REGEX
  "(_test|/(conformance|klu_oracle|metamorphic|shrink|stable_pivots|verify))\\.cpp$")  # these run rungs
add_library(fuzzed_judge STATIC ${judges} ${PROJECT_SOURCE_DIR}/app/factor_folder.cpp)
lulab_setup_target(fuzzed_judge full)
lulab_compile_together(fuzzed_judge)
target_link_libraries(fuzzed_judge PUBLIC lulab_core CLI11::CLI11)
target_link_libraries(fuzz_judge_files PRIVATE fuzzed_judge)
target_link_libraries(fuzz_judge_memory PRIVATE fuzzed_judge)
target_sources(fuzz_netlist PRIVATE ${PROJECT_SOURCE_DIR}/examples/transient_circuit/parse_netlist.cpp
  ${PROJECT_SOURCE_DIR}/examples/transient_circuit/netlist.cpp)
target_sources(fuzz_power_flow_case PRIVATE ${PROJECT_SOURCE_DIR}/examples/power_flow/case_tables.cpp
  ${PROJECT_SOURCE_DIR}/examples/power_flow/parse_case.cpp ${PROJECT_SOURCE_DIR}/examples/power_flow/network.cpp)
target_link_libraries(fuzz_solver PRIVATE lulab_driver)
target_include_directories(fuzz_klu SYSTEM PRIVATE ${SuiteSparse_INCLUDE_DIR})
target_compile_definitions(fuzz_klu PRIVATE LULAB_KLU_LIBRARY="$<TARGET_FILE:lulab_klu>")
target_link_libraries(fuzz_klu PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(fuzz_klu lulab_klu)
