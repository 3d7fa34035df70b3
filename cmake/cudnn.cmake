# Looks for cuDNN and its header-only front end; both are optional. CAUSEWAY_HAS_CUDNN is the answer.
# The front end is looked for in CAUSEWAY_CUDNN_FRONTEND, in third_party/cudnn-frontend/include (not
# kept in the repository), and where pip puts it.

set(CAUSEWAY_CUDNN_FRONTEND "" CACHE PATH "The folder of cudnn_frontend.h")
set(CAUSEWAY_HAS_CUDNN OFF)
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
  if(CUDNN_FRONTEND_INCLUDE_DIR AND CUDNN_INCLUDE_DIR AND CUDNN_LIBRARY AND TARGET CUDA::nvrtc)
    set(CAUSEWAY_HAS_CUDNN ON)
    set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # what is installed finds the library where it was
    message(STATUS "Causeway: cuDNN ${CUDNN_LIBRARY}")
  else()
    message(STATUS "Causeway: no cuDNN (front end ${CUDNN_FRONTEND_INCLUDE_DIR}, headers "
      "${CUDNN_INCLUDE_DIR}, library ${CUDNN_LIBRARY})")
  endif()
endif()
