# METIS::METIS
include(FindPackageHandleStandardArgs)
find_path(METIS_INCLUDE_DIR metis.h)
find_library(METIS_LIBRARY NAMES metis)
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY)
find_package_handle_standard_args(METIS REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install it with: ./lulab setup (Debian/Ubuntu: libmetis-dev)")
if(METIS_FOUND AND NOT TARGET METIS::METIS)
  add_library(METIS::METIS UNKNOWN IMPORTED)
  set_target_properties(METIS::METIS PROPERTIES IMPORTED_LOCATION ${METIS_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${METIS_INCLUDE_DIR})
endif()
