# Looks for cuDNN, which convolution on a GPU needs, and its header-only front end, which attention
# over long sequences uses; both are optional. CAUSEWAY_HAS_CUDNN and CAUSEWAY_HAS_CUDNN_FRONTEND are
# the answers. The front end is looked for in CAUSEWAY_CUDNN_FRONTEND, in third_party/cudnn-frontend/include (not
# kept in the repository), and where pip puts it.

set(CAUSEWAY_CUDNN_FRONTEND "" CACHE PATH "The folder of cudnn_frontend.h")
set(CAUSEWAY_HAS_CUDNN OFF)
set(CAUSEWAY_HAS_CUDNN_FRONTEND OFF)
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
  find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR}
    ${CUDAToolkit_LIBRARY_ROOT} PATHS ${wheels} PATH_SUFFIXES lib lib64)
  if(CUDNN_INCLUDE_DIR AND CUDNN_LIBRARY)
    set(CAUSEWAY_HAS_CUDNN ON)
    set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # what is installed finds the library where it was
    if(CUDNN_FRONTEND_INCLUDE_DIR AND TARGET CUDA::nvrtc)
      set(CAUSEWAY_HAS_CUDNN_FRONTEND ON)
    endif()
  endif()
  message(STATUS "Causeway: cuDNN ${CUDNN_LIBRARY}, front end ${CUDNN_FRONTEND_INCLUDE_DIR}")
endif()
