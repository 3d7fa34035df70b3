// The libraries of NVIDIA that kernels call: version and file of each, or why there is none. They
// are opened at first use; asking opens them too.
#pragma once

#include "causeway/core/library.h"

namespace causeway::kernels {

LibraryStatus cublas_status();  // cuBLASLt, for matrix products
LibraryStatus cudnn_status();   // for convolution and long attention

}  // namespace causeway::kernels
