# Looks for the header of HDF5 (1.10 or newer, the C library), in which dumps of datasets are written;
# it is optional. The library itself is opened at run time. CAUSEWAY_HAS_HDF5 is the answer.

set(CAUSEWAY_HAS_HDF5 OFF)
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
if(HDF5_INCLUDE_DIR)
  set(CAUSEWAY_HAS_HDF5 ON)
endif()
message(STATUS "Causeway: HDF5 header in ${HDF5_INCLUDE_DIR}")
