// The functions of cuDNN, opened at first use; for files built with cuDNN. The frontend looks up
// its own functions through the library handle.
#pragma once

#include "causeway/core/library.h"

#include <cudnn.h>

namespace causeway::kernels::cuda {

struct CudnnLibrary {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetVersion);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetErrorString);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetStream);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnCreateTensorDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetTensor4dDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnCreateFilterDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetFilter4dDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnCreateConvolutionDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetConvolution2dDescriptor);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetConvolutionGroupCount);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnSetConvolutionMathType);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetConvolutionForwardWorkspaceSize);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetConvolutionForwardAlgorithm_v7);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetConvolutionBackwardDataAlgorithm_v7);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnConvolutionForward);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnConvolutionBackwardData);
  CAUSEWAY_LIBRARY_FUNCTION(library, cudnnConvolutionBackwardFilter);
};

// Throws a device error if the library is not found.
const CudnnLibrary& cudnn();

}  // namespace causeway::kernels::cuda
