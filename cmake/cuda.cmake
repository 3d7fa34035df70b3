# Decides whether this build has CUDA, and for which architectures.
# Sets CAUSEWAY_HAS_CUDA; respects CMAKE_CUDA_ARCHITECTURES.

set(CAUSEWAY_HAS_CUDA OFF)
if(NOT CAUSEWAY_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      # The GPUs of this machine, else Hopper.
      execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE failed)
      if(failed EQUAL 0 AND gpus MATCHES "GPU 0")
        set(CMAKE_CUDA_ARCHITECTURES native)
      else()
        set(CMAKE_CUDA_ARCHITECTURES 90)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit 12.8 REQUIRED)
    set(CAUSEWAY_HAS_CUDA ON)
  elseif(CAUSEWAY_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CAUSEWAY_CUDA=ON, but no CUDA compiler was found; "
      "put nvcc on PATH or set CMAKE_CUDA_COMPILER")
  endif()
endif()

if(CAUSEWAY_HAS_CUDA)
  message(STATUS "Causeway: CPU and CUDA ${CUDAToolkit_VERSION} (sm ${CMAKE_CUDA_ARCHITECTURES})")
else()
  message(STATUS "Causeway: CPU only")
endif()
