// The functions of cuBLASLt, opened at first use, so that a program built with CUDA starts without
// CUDA libraries.
#pragma once

#include "causeway/core/library.h"

#include <cublasLt.h>

namespace causeway::kernels::cuda {

struct CublasLt {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtGetVersion);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtGetStatusString);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmul);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulAlgoConfigGetAttribute);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulAlgoGetHeuristic);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulDescCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulDescSetAttribute);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulPreferenceCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulPreferenceDestroy);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatmulPreferenceSetAttribute);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatrixLayoutCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cublasLtMatrixLayoutSetAttribute);
};

// Throws a device error if the library is not found.
const CublasLt& cublas();

}  // namespace causeway::kernels::cuda
