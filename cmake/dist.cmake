# Looks for what connects ranks: MPI (its C library) for the CPU, NCCL for GPUs; both are optional.
# CAUSEWAY_HAS_MPI and CAUSEWAY_HAS_NCCL are the answers.

option(CAUSEWAY_MPI "Use MPI where it is found" ON)
set(CAUSEWAY_HAS_MPI OFF)
set(CAUSEWAY_HAS_NCCL OFF)

if(CAUSEWAY_MPI)
  find_package(MPI QUIET COMPONENTS C)
  set(CAUSEWAY_HAS_MPI ${MPI_C_FOUND})
endif()
message(STATUS "Causeway: MPI ${MPI_C_LIBRARIES}")

if(CAUSEWAY_HAS_CUDA)
  file(GLOB site_packages ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages
    /usr/lib/python3/dist-packages /usr/local/lib/python3*/dist-packages
    /usr/local/lib/python3*/site-packages)
  list(TRANSFORM site_packages APPEND /nvidia/nccl OUTPUT_VARIABLE wheels)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheels}
    PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR}
    ${CUDAToolkit_LIBRARY_ROOT} PATHS ${wheels} PATH_SUFFIXES lib lib64)
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    set(CAUSEWAY_HAS_NCCL ON)
    set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # what is installed finds the library where it was
  endif()
  message(STATUS "Causeway: NCCL ${NCCL_LIBRARY}")
endif()
