# lulab_room(NAME [STAGE] [LIGHT] [PROGRAM exe [PROGRAM_DEPENDS targets...]] DEPENDS targets...
#            [APART files...])
#   Every source in NAME/ becomes the static library lulab_NAME; files ending in _test make the room's tests; with
#   PROGRAM, main.cpp becomes that executable. A new file needs no line here. STAGE: the folder holds rungs
#   (NN_name.cpp or .cu).
#   LIGHT: its code parses, checks and prints; in the simulator, where no time is claimed, it compiles at -O1.
#   Groups of its files compile as one (LULAB_UNITY), in half of the time; so no two files of a room may give different
#   things the same name, not even in anonymous namespaces. The files of APART are in no group: names in them are those
#   of other files, or they instantiate a class of which other files define the rest.
#   Files in a folder named cuda/ are for the GPU only, files in a folder named host/ for the simulator only; those in
#   folders named mpi/ or peers/ are listed where the program is that needs them.
# lulab_registry(stages...)
#   all_rungs() from each stage's rungs.def, in that order.

add_library(lulab_flags INTERFACE)
target_compile_features(lulab_flags INTERFACE cxx_std_20)
set(lulab_warnings -Wall -Wextra -Wpedantic -Wno-unknown-pragmas)
if(LULAB_WERROR AND NOT LULAB_SANITIZE)  # sanitizers make the compiler see paths that no program takes
  list(APPEND lulab_warnings -Werror -Wno-restrict)  # GCC 12 warns of memcpy inside std::string
endif()
# No fused multiply-add behind our back: the simulator and the sequential references must round alike.
# Position-independent: the same objects make programs and liblulab.so. Hidden: calls inside stay direct.
set(lulab_cxx_flags ${lulab_warnings} -ffp-contract=off -fPIC -fvisibility=hidden)
if(lulab_uses_ccache AND LULAB_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND lulab_cxx_flags -fpch-preprocess)  # so that ccache sees which precompiled header a file used
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects its garbage first at 512 MiB: an eighth less time, at most 400 MiB more for each compiler.
  list(APPEND lulab_cxx_flags --param=ggc-min-heapsize=524288)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A template with default arguments stands for one with fewer parameters (C++17); Clang wants to be asked.
  list(APPEND lulab_cxx_flags -frelaxed-template-template-args)
endif()
if(LULAB_SANITIZE STREQUAL "address")
  # Left out: checks that cost half of the compile time; a null or wrapped pointer that is used ends the program anyway.
  list(APPEND lulab_cxx_flags -fsanitize=address,undefined -fno-sanitize=vptr,object-size,null,pointer-overflow
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(lulab_flags INTERFACE -fsanitize=address,undefined)
elseif(LULAB_SANITIZE STREQUAL "thread")
  list(APPEND lulab_cxx_flags -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(lulab_flags INTERFACE -fsanitize=thread)
elseif(LULAB_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LULAB_SANITIZE is 'fuzzer', which needs Clang; use the preset fuzz")
  endif()
  list(APPEND lulab_cxx_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,function
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(lulab_flags INTERFACE -fsanitize=address,undefined)
elseif(LULAB_SANITIZE)
  message(FATAL_ERROR "LULAB_SANITIZE is '${LULAB_SANITIZE}'; address, thread or fuzzer are known")
endif()
if(LULAB_CUDA AND LULAB_SANITIZE)
  message(FATAL_ERROR "LULAB_SANITIZE works on the host simulator: use the presets sim-asan or sim-tsan")
endif()
# fmt 9 needs the two definitions under nvcc. Suppressed: 177, GoogleTest's members that a test does not use; 2810,
# assigning a [[nodiscard]] Status is no discard; 20208, long double in fmt.
set(lulab_cuda_flags --extended-lambda --expt-relaxed-constexpr -lineinfo -Xcompiler=-fPIC,-fvisibility=hidden
  -Xcompiler=-Wall,-Wextra,-Wno-unused-but-set-variable
  -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1 --diag-suppress=177,2810,20208)
if(LULAB_WERROR)
  list(APPEND lulab_cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()

# Headers that most files include, compiled once for each set of flags: library code (full), library code at -O1
# (light), tests of kernels at -O1 (test), other tests at -O0 (host_test). Not with CUDA: nvcc cannot use them. A
# missing #include is found by a build with -DLULAB_PRECOMPILE=OFF -DLULAB_UNITY=OFF, which no script makes.
set(lulab_common_headers <algorithm> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional>
  <random> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
function(lulab_precompile flavor)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// The precompiled headers need one source.\n")
  add_library(lulab_precompiled_${flavor} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  lulab_setup_target(lulab_precompiled_${flavor} ${flavor})
  target_link_libraries(lulab_precompiled_${flavor} PRIVATE fmt::fmt ${ARGN})
endfunction()

# lulab_setup_target(target flavor): flags and precompiled headers; flavor: full, light, test or host_test.
function(lulab_setup_target target flavor)
  if(flavor STREQUAL "light" AND LULAB_CUDA)
    set(flavor full)
  endif()
  # What AddressSanitizer and UBSan add takes three times as long to compile at -O1.
  set(level 1)
  if(flavor STREQUAL "host_test" OR LULAB_SANITIZE STREQUAL "address")
    set(level 0)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${lulab_cxx_flags}>")
  if(LULAB_CUDA)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${lulab_cuda_flags}>")
  endif()
  if(NOT flavor STREQUAL "full" AND (CMAKE_BUILD_TYPE STREQUAL "Release" OR level EQUAL 0))
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O${level}>)
  endif()
  if(LULAB_PRECOMPILE)
    if(target MATCHES "^lulab_precompiled_(host_)?test$")
      target_precompile_headers(${target} PRIVATE ${lulab_common_headers} <gtest/gtest.h>)
    elseif(target MATCHES "^lulab_precompiled_")
      target_precompile_headers(${target} PRIVATE ${lulab_common_headers})
    else()
      target_precompile_headers(${target} REUSE_FROM lulab_precompiled_${flavor})
    endif()
  endif()
  if(LULAB_SANITIZE STREQUAL "address" AND flavor MATCHES "^(light|host_test)$")
    # A misaligned access matters to kernels only; lulab_room() turns this on again for them.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=alignment>)
  endif()
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lulab_flags>)
  # METIS, SCOTCH and Google Benchmark are shared libraries here; a copy beside the program is found first.
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
endfunction()

if(LULAB_PRECOMPILE)
  lulab_precompile(full)
  lulab_precompile(light)
  if(LULAB_TESTS)
    lulab_precompile(test GTest::gtest)
    lulab_precompile(host_test GTest::gtest)
  endif()
endif()

# lulab_kernel_sources(files...): kernels among them are C++ in the simulator. With CUDA, CMake is to group neither them
# nor what only the GPU needs: ./lulab finds it by its name for the preset cuda-check.
function(lulab_kernel_sources)
  set(kernels ${ARGN})
  if(LULAB_CUDA)
    list(FILTER kernels INCLUDE REGEX "\\.cu$|/cuda/[^/]+$")
    set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    list(FILTER kernels INCLUDE REGEX "\\.cu$")
    set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
  endif()
endfunction()

# nvcc on many cores is done earlier with each file alone.
set(lulab_groups_for_nvcc FALSE)
if(LULAB_CUDA AND LULAB_UNITY STREQUAL "ALL")
  set(lulab_groups_for_nvcc TRUE)
endif()

# lulab_compile_together(target): groups of C++ files compile as one.
function(lulab_compile_together target)
  if(LULAB_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # GCC takes the files of a group for headers, in which anonymous namespaces are mistakes.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# lulab_group_kernels(files name [apart...]): in the list called files, each group of 8 kernel files becomes one file
# that includes them. CMake 3.25 cannot do it for CUDA, nor for files with flags of their own.
function(lulab_group_kernels files name)
  set(kernels ${${files}})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  list(REMOVE_ITEM kernels ${ARGN})
  set(others ${${files}})
  list(REMOVE_ITEM others ${kernels})
  set(number 0)
  while(kernels)
    list(SUBLIST kernels 0 8 group)
    list(REMOVE_ITEM kernels ${group})
    list(TRANSFORM group REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN group "" group)
    set(file ${PROJECT_BINARY_DIR}/groups/${name}_${number}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${group}")
    list(APPEND others ${file})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${files} ${others} PARENT_SCOPE)
endfunction()

# One executable of tests: label cpu/ROOM (*_test.cpp), sim/ROOM or gpu/ROOM (*_test.cu), slow/ROOM (*_slow_test.*), or
# threads/ROOM (*_test.cpp, of which those run that have Thread in their names).
function(lulab_test name label)
  string(REGEX REPLACE "_(cpu|simt|slow)_test$" "" room ${name})
  add_executable(${name} ${ARGN})
  lulab_kernel_sources(${ARGN})
  set(tests *)
  if(label STREQUAL "threads")
    set(tests *Thread*)
  endif()
  if(label MATCHES "cpu|threads")
    lulab_setup_target(${name} host_test)
  else()
    lulab_setup_target(${name} test)
  endif()
  target_link_libraries(${name} PRIVATE ${lulab_test_libraries} GTest::gtest GTest::gtest_main)
  # DISABLED_ tests are the kernels that other tests run in a process of their own. Choices rest on the shipped
  # constants, not on how fast this machine happens to be.
  gtest_discover_tests(${name} TEST_FILTER "${tests}-*DISABLED_*" TEST_PREFIX "${label}/" NO_PRETTY_VALUES
    DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label}/${room} ENVIRONMENT LULAB_CALIBRATION=off)
endfunction()

function(lulab_room room)
  cmake_parse_arguments(ARG "STAGE;LIGHT" "PROGRAM" "APART;PROGRAM_DEPENDS;DEPENDS" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/${room})
  set(flavor full)
  if(ARG_LIGHT)
    set(flavor light)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp ${dir}/*.cu)
  if(LULAB_CUDA)
    list(FILTER sources EXCLUDE REGEX "/${room}/([^/]+/)*host/")
  else()
    list(FILTER sources EXCLUDE REGEX "/${room}/([^/]+/)*cuda/")
  endif()
  list(TRANSFORM ARG_APART PREPEND ${dir}/)
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.(cpp|cu)$")
  list(FILTER sources EXCLUDE REGEX "(_test\\.(cpp|cu)|/main\\.cpp|/(mpi|peers)/[^/]+)$")

  set(kernels_at_O1 FALSE)  # no time of a simulated kernel is claimed, and -O1 compiles in two thirds of the time
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT (LULAB_CUDA OR ARG_LIGHT))
    set(kernels_at_O1 TRUE)
  endif()
  if(LULAB_CUDA)
    set(group_kernels ${lulab_groups_for_nvcc})
  elseif(LULAB_UNITY AND (LULAB_SANITIZE STREQUAL "fuzzer" OR kernels_at_O1))
    set(group_kernels TRUE)
  else()
    set(group_kernels FALSE)
  endif()
  if(group_kernels)
    lulab_group_kernels(sources lulab_${room} ${ARG_APART})
  endif()
  if(sources)
    add_library(lulab_${room} STATIC ${sources})
    lulab_kernel_sources(${sources})
    lulab_setup_target(lulab_${room} ${flavor})
    lulab_compile_together(lulab_${room})
    if(kernels_at_O1)
      set(kernels ${sources})
      list(FILTER kernels INCLUDE REGEX "\\.cu$")
      set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS -O1)
    endif()
    if(LULAB_SANITIZE STREQUAL "address" AND ARG_LIGHT)
      set(kernels ${sources})
      list(FILTER kernels INCLUDE REGEX "\\.cu$")
      set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS -fsanitize=alignment)
    endif()
    if(LULAB_SANITIZE STREQUAL "fuzzer")
      # No target of fuzz/ launches a kernel, and Eigen's code is not ours: these are only linked.
      set(linked ${sources})
      list(FILTER linked INCLUDE REGEX "\\.cu$|/sparse_syncfree/|/91_eigen")
      set_source_files_properties(${linked} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O0;-g0")
    endif()
    if(LULAB_SANITIZE STREQUAL "address")
      # Eigen's code is not ours, and takes four times as long to compile with what sanitizers add. In files that have
      # them Eigen aligns memory itself; so it must here, since one may free what another allocated.
      set(eigen ${sources})
      list(FILTER eigen INCLUDE REGEX "/91_eigen")
      set_source_files_properties(${eigen} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
        COMPILE_OPTIONS "-fno-sanitize=all;-O1;-g0;-DEIGEN_MALLOC_ALREADY_ALIGNED=0")
    endif()
    if(LULAB_SANITIZE STREQUAL "thread")
      # ThreadSanitizer must see the simulated threads, not the one scheduler that switches between them.
      set(scheduler ${sources})
      list(FILTER scheduler INCLUDE REGEX "/simt/host/.*\\.cpp$")
      set_source_files_properties(${scheduler} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread
        SKIP_PRECOMPILE_HEADERS ON)
    endif()
    set(scope PUBLIC)
  else()
    add_library(lulab_${room} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(lulab_${room} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lulab>)
  target_compile_features(lulab_${room} ${scope} cxx_std_20)
  target_link_libraries(lulab_${room} ${scope} ${ARG_DEPENDS})
  if(room STREQUAL "core")
    if(LULAB_CUDA)
      target_link_libraries(lulab_core PUBLIC CUDA::cudart_static CUDA::cublas)
      target_compile_definitions(lulab_core PUBLIC LULAB_CUDA=1)
    else()
      target_link_libraries(lulab_core PUBLIC Boost::context Threads::Threads)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY LULAB_ROOMS lulab_${room})

  if(ARG_PROGRAM)
    add_executable(${ARG_PROGRAM} ${dir}/main.cpp)
    lulab_setup_target(${ARG_PROGRAM} ${flavor})
    target_link_libraries(${ARG_PROGRAM} PRIVATE lulab_${room} ${ARG_PROGRAM_DEPENDS})
  endif()

  if(LULAB_TESTS)
    if(LULAB_CUDA)
      set(simt_label gpu)
    else()
      set(simt_label sim)
    endif()
    set(lulab_test_libraries lulab_${room})
    foreach(kind IN ITEMS cpu simt slow)
      set(chosen ${tests})
      if(kind STREQUAL "slow")
        list(FILTER chosen INCLUDE REGEX "_slow_test\\.")
        set(label slow)
      else()
        list(FILTER chosen EXCLUDE REGEX "_slow_test\\.")
        if(kind STREQUAL "cpu")
          list(FILTER chosen INCLUDE REGEX "\\.cpp$")
          set(label cpu)
        else()
          list(FILTER chosen INCLUDE REGEX "\\.cu$")
          set(label ${simt_label})
          if(LULAB_SANITIZE STREQUAL "thread")
            list(FILTER chosen EXCLUDE REGEX "device_failures_test")  # other tests have its kernels, without failures
            if(room STREQUAL "bench")
              set(chosen)  # it launches the kernels of other rooms, which test them
            endif()
          endif()
        endif()
      endif()
      if(lulab_groups_for_nvcc)
        lulab_group_kernels(chosen ${room}_${kind}_test ${ARG_APART})
      endif()
      if(chosen)
        lulab_test(${room}_${kind}_test ${label} ${chosen})
        lulab_compile_together(${room}_${kind}_test)
      endif()
    endforeach()
  endif()
endfunction()

# lulab_use_programs(target PROGRAM...): of the programs of others, those that are there, with the definition
# LULAB_<PROGRAM>.
function(lulab_use_programs target)
  foreach(program IN LISTS ARGN)
    if(${program}_INCLUDE_DIR AND ${program}_LIBRARY)
      string(TOUPPER LULAB_${program} definition)
      target_compile_definitions(${target} PRIVATE ${definition})
      target_include_directories(${target} SYSTEM PRIVATE ${${program}_INCLUDE_DIR})
      target_link_libraries(${target} PRIVATE ${${program}_LIBRARY})
    endif()
  endforeach()
endfunction()

function(lulab_registry)
  foreach(stage IN LISTS ARGN)
    list(APPEND stages lulab_${stage})
    string(APPEND includes "#include \"${stage}/rungs.h\"\n")
    string(APPEND entries "#define LULAB_RUNG(name) &lulab::${stage}::name,\n"
      "#include \"${stage}/rungs.def\"\n#undef LULAB_RUNG\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/all_rungs.cpp.in ${PROJECT_BINARY_DIR}/all_rungs.cpp @ONLY)
  add_library(lulab_registry STATIC ${PROJECT_BINARY_DIR}/all_rungs.cpp)
  lulab_setup_target(lulab_registry full)
  target_link_libraries(lulab_registry PUBLIC lulab_core PRIVATE ${stages})
  set_property(GLOBAL APPEND PROPERTY LULAB_ROOMS lulab_registry)
endfunction()
