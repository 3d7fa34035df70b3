// The NVIDIA libraries that kernels call: version and path of each, or why it is absent. They are
// opened at first use, including by these functions.
#pragma once

#include "causeway/core/library.h"

namespace causeway::kernels {

LibraryStatus cublas_status();  // cuBLASLt, for matrix products
LibraryStatus cudnn_status();   // for convolution and long attention

}  // namespace causeway::kernels
