# SuiteSparse::AMD, ::COLAMD, ::BTF, ::KLU from an install without a CMake config (Debian's 5.x). Static when there.
include(FindPackageHandleStandardArgs)
find_path(SuiteSparse_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
set(SuiteSparse_required SuiteSparse_INCLUDE_DIR)
foreach(lib suitesparseconfig amd colamd btf klu)
  find_library(SuiteSparse_${lib}_LIBRARY NAMES lib${lib}.a ${lib})
  mark_as_advanced(SuiteSparse_${lib}_LIBRARY)
  list(APPEND SuiteSparse_required SuiteSparse_${lib}_LIBRARY)
endforeach()
find_package_handle_standard_args(SuiteSparse REQUIRED_VARS ${SuiteSparse_required}
  REASON_FAILURE_MESSAGE "install it with: ./lulab setup (Debian/Ubuntu: libsuitesparse-dev)")

function(lulab_suitesparse name lib)
  if(NOT TARGET SuiteSparse::${name})
    add_library(SuiteSparse::${name} UNKNOWN IMPORTED)
    set_target_properties(SuiteSparse::${name} PROPERTIES
      IMPORTED_LOCATION ${SuiteSparse_${lib}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${SuiteSparse_INCLUDE_DIR}
      INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endfunction()
if(SuiteSparse_FOUND)
  # Since 6.0 its timer is OpenMP's, and a static library does not say so.
  file(STRINGS ${SuiteSparse_INCLUDE_DIR}/SuiteSparse_config.h main_version REGEX "#define SUITESPARSE_MAIN_VERSION")
  string(REGEX MATCH "[0-9]+" main_version "${main_version}")
  set(timer "")
  if(main_version GREATER_EQUAL 6 AND SuiteSparse_suitesparseconfig_LIBRARY MATCHES "\\.a$")
    set(timer gomp)
  endif()
  lulab_suitesparse(Config suitesparseconfig m ${timer})
  lulab_suitesparse(AMD amd SuiteSparse::Config)
  lulab_suitesparse(COLAMD colamd SuiteSparse::Config)
  lulab_suitesparse(BTF btf SuiteSparse::Config)
  lulab_suitesparse(KLU klu SuiteSparse::AMD SuiteSparse::COLAMD SuiteSparse::BTF SuiteSparse::Config)
endif()
