# Finds OpenBLAS: the target causeway::openblas. Installed too, since a static library's users link it.
if(NOT TARGET causeway::openblas)
  find_path(OPENBLAS_INCLUDE_DIR cblas.h
    PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE} openblas
    REQUIRED)
  find_library(OPENBLAS_LIBRARY openblas
    PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp REQUIRED)
  mark_as_advanced(OPENBLAS_INCLUDE_DIR OPENBLAS_LIBRARY)
  add_library(causeway::openblas UNKNOWN IMPORTED)
  set_target_properties(causeway::openblas PROPERTIES
    IMPORTED_LOCATION ${OPENBLAS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_INCLUDE_DIR})
endif()
