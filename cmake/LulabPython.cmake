# lulab._core, the compiled half of the Python package in python/. pip install . sets LULAB_PYTHON and builds the target
# lulab_python.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_package(nanobind CONFIG QUIET)
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "LULAB_PYTHON is ON, but ${Python_EXECUTABLE} has no nanobind; "
    "use pip install . or pip install nanobind")
endif()
nanobind_add_module(lulab_core_python NB_STATIC STABLE_ABI NB_SUPPRESS_WARNINGS python/src/lulab_python.cpp)
set_target_properties(lulab_core_python PROPERTIES OUTPUT_NAME _core
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/lulab)
target_compile_definitions(lulab_core_python PRIVATE LULAB_VERSION="${PROJECT_VERSION}")
target_link_libraries(lulab_core_python PRIVATE lulab_capi lulab_registry)
# Nothing of the libraries in it is visible outside: other modules keep theirs. Debian's libcolamd.a, which is not
# position-independent, can only be linked so.
target_link_options(lulab_core_python PRIVATE LINKER:--exclude-libs,ALL)
# Importing lulab._core needs lulab._errors only when something fails, so the stub can be made from the module alone.
nanobind_add_stub(lulab_python_stub MODULE _core OUTPUT ${PROJECT_BINARY_DIR}/python/lulab/_core.pyi
  PYTHON_PATH $<TARGET_FILE_DIR:lulab_core_python> DEPENDS lulab_core_python)
add_custom_target(lulab_python DEPENDS lulab_python_stub)
install(TARGETS lulab_core_python LIBRARY DESTINATION lulab COMPONENT python)
install(FILES ${PROJECT_BINARY_DIR}/python/lulab/_core.pyi DESTINATION lulab COMPONENT python)
