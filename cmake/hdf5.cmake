# Finds the header of HDF5 (C library, 1.10 or newer), for dumps of datasets. It is optional; the library
# is opened at run time. Sets CAUSEWAY_HAS_HDF5.

set(CAUSEWAY_HAS_HDF5 OFF)
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
if(HDF5_INCLUDE_DIR)
  set(CAUSEWAY_HAS_HDF5 ON)
endif()
message(STATUS "Causeway: HDF5 header in ${HDF5_INCLUDE_DIR}")
