# Looks for HDF5 (1.10 or newer, the C library), in which dumps of datasets are written; it is
# optional. CAUSEWAY_HAS_HDF5 is the answer.

set(CAUSEWAY_HAS_HDF5 OFF)
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
if(HDF5_INCLUDE_DIR AND HDF5_LIBRARY)
  set(CAUSEWAY_HAS_HDF5 ON)
endif()
message(STATUS "Causeway: HDF5 ${HDF5_LIBRARY}")
