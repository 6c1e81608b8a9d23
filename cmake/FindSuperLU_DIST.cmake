# SuperLU_DIST::SuperLU_DIST, 7 or newer, from an install without a CMake config (Debian's). Needs MPI.
include(FindPackageHandleStandardArgs)
find_path(SuperLU_DIST_INCLUDE_DIR superlu_ddefs.h PATH_SUFFIXES superlu-dist superlu_dist)
find_library(SuperLU_DIST_LIBRARY NAMES superlu_dist)
if(SuperLU_DIST_LIBRARY MATCHES "[.]a$")  # functions that app/mpi replaces would be defined twice
  set(SuperLU_DIST_LIBRARY SuperLU_DIST_LIBRARY-NOTFOUND)
endif()
mark_as_advanced(SuperLU_DIST_INCLUDE_DIR SuperLU_DIST_LIBRARY)
if(SuperLU_DIST_INCLUDE_DIR)
  set(version "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${SuperLU_DIST_INCLUDE_DIR}/superlu_defs.h line REGEX "#define SUPERLU_DIST_${part}_VERSION")
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND version "${number}")
  endforeach()
  list(JOIN version "." SuperLU_DIST_VERSION)
endif()
find_package_handle_standard_args(SuperLU_DIST
  REQUIRED_VARS SuperLU_DIST_LIBRARY SuperLU_DIST_INCLUDE_DIR VERSION_VAR SuperLU_DIST_VERSION
  REASON_FAILURE_MESSAGE "install it with: ./lulab setup (Debian/Ubuntu: libsuperlu-dist-dev)")
if(SuperLU_DIST_FOUND AND NOT TARGET SuperLU_DIST::SuperLU_DIST)
  add_library(SuperLU_DIST::SuperLU_DIST UNKNOWN IMPORTED)
  set_target_properties(SuperLU_DIST::SuperLU_DIST PROPERTIES IMPORTED_LOCATION ${SuperLU_DIST_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SuperLU_DIST_INCLUDE_DIR})
endif()
