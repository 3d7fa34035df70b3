# Finds the headers of MPI (C library) and NCCL. Both are optional and opened at run time. Sets
# CAUSEWAY_HAS_MPI and CAUSEWAY_HAS_NCCL.

option(CAUSEWAY_MPI "Use MPI where it is found" ON)
set(CAUSEWAY_HAS_MPI OFF)
set(CAUSEWAY_HAS_NCCL OFF)

if(CAUSEWAY_MPI)
  find_package(MPI QUIET COMPONENTS C)
  set(CAUSEWAY_HAS_MPI ${MPI_C_FOUND})
endif()
message(STATUS "Causeway: MPI header in ${MPI_C_INCLUDE_DIRS}")

if(CAUSEWAY_HAS_CUDA)
  file(GLOB site_packages ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages
    /usr/lib/python3/dist-packages /usr/local/lib/python3*/dist-packages
    /usr/local/lib/python3*/site-packages)
  list(TRANSFORM site_packages APPEND /nvidia/nccl OUTPUT_VARIABLE wheels)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheels}
    PATH_SUFFIXES include)
  if(NCCL_INCLUDE_DIR)
    set(CAUSEWAY_HAS_NCCL ON)
  endif()
  message(STATUS "Causeway: NCCL header in ${NCCL_INCLUDE_DIR}")
endif()
