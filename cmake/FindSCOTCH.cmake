# SCOTCH::SCOTCH, 7.0 or newer: contexts with threads of their own. Debian's folder scotch may hold another metis.h, so
# that folder is not searched for headers: include <scotch/scotch.h> there, <scotch.h> elsewhere.
include(FindPackageHandleStandardArgs)
find_path(SCOTCH_INCLUDE_DIR NAMES scotch/scotch.h scotch.h)
find_library(SCOTCH_LIBRARY NAMES scotch)
find_library(SCOTCH_error_LIBRARY NAMES scotcherr)
mark_as_advanced(SCOTCH_INCLUDE_DIR SCOTCH_LIBRARY SCOTCH_error_LIBRARY)
foreach(header IN ITEMS scotch.h scotch/scotch.h)
  if(EXISTS ${SCOTCH_INCLUDE_DIR}/${header})
    file(STRINGS ${SCOTCH_INCLUDE_DIR}/${header} SCOTCH_VERSION REGEX "^#define SCOTCH_VERSION")
    string(REGEX MATCH "[0-9]+" SCOTCH_VERSION "${SCOTCH_VERSION}")
  endif()
endforeach()
find_package_handle_standard_args(SCOTCH REQUIRED_VARS SCOTCH_LIBRARY SCOTCH_error_LIBRARY SCOTCH_INCLUDE_DIR
  VERSION_VAR SCOTCH_VERSION REASON_FAILURE_MESSAGE "install it with: ./lulab setup (Debian/Ubuntu: libscotch-dev)")
if(SCOTCH_FOUND AND NOT TARGET SCOTCH::SCOTCH)
  add_library(SCOTCH::SCOTCH UNKNOWN IMPORTED)
  set_target_properties(SCOTCH::SCOTCH PROPERTIES IMPORTED_LOCATION ${SCOTCH_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SCOTCH_INCLUDE_DIR} INTERFACE_LINK_LIBRARIES ${SCOTCH_error_LIBRARY})
endif()
