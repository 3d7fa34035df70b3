# Finds the header of cuDNN, for convolution on a GPU, and its header-only frontend, for attention over
# long sequences. Both are optional; the library is opened at run time. Sets CAUSEWAY_HAS_CUDNN and
# CAUSEWAY_HAS_CUDNN_FRONTEND, and the frontend's version. It is searched in CAUSEWAY_CUDNN_FRONTEND, in
# third_party/cudnn-frontend/include (not in the repository), and in the Python packages.

set(CAUSEWAY_CUDNN_FRONTEND "" CACHE PATH "The folder of cudnn_frontend.h")
set(CAUSEWAY_HAS_CUDNN OFF)
set(CAUSEWAY_HAS_CUDNN_FRONTEND OFF)
set(CAUSEWAY_CUDNN_FRONTEND_VERSION "")
if(CAUSEWAY_HAS_CUDA)
  file(GLOB site_packages ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages
    /usr/lib/python3/dist-packages /usr/lib/python3*/site-packages
    /usr/local/lib/python3*/dist-packages /usr/local/lib/python3*/site-packages)
  list(TRANSFORM site_packages APPEND /include OUTPUT_VARIABLE front_ends)
  list(TRANSFORM site_packages APPEND /nvidia/cudnn OUTPUT_VARIABLE wheels)
  find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
    PATHS ${CAUSEWAY_CUDNN_FRONTEND} ${PROJECT_SOURCE_DIR}/third_party/cudnn-frontend/include
    ${front_ends} NO_DEFAULT_PATH)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${wheels}
    PATH_SUFFIXES include)
  find_file(NVRTC_HEADER nvrtc.h HINTS ${CUDAToolkit_INCLUDE_DIRS})  # included by the frontend
  if(CUDNN_INCLUDE_DIR)
    set(CAUSEWAY_HAS_CUDNN ON)
    if(CUDNN_FRONTEND_INCLUDE_DIR AND NVRTC_HEADER)
      set(CAUSEWAY_HAS_CUDNN_FRONTEND ON)
      file(STRINGS ${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h lines
        REGEX "define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION")
      string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
      list(JOIN numbers "." CAUSEWAY_CUDNN_FRONTEND_VERSION)
    endif()
  endif()
  message(STATUS "Causeway: cuDNN header in ${CUDNN_INCLUDE_DIR}, front end in "
    "${CUDNN_FRONTEND_INCLUDE_DIR}")
endif()
