#include "causeway/kernels/cudnn/cudnn_library.h"

#include "causeway/kernels/libraries.h"

#include <fmt/format.h>

#include <cuda_runtime_api.h>

namespace causeway::kernels {

namespace cuda {

namespace {

LibrarySearch search() {
  return {.name = "cuDNN",
          .files = {fmt::format("libcudnn.so.{}", CUDNN_MAJOR)},
          .wheels = {"cudnn/lib"},
          .variable = "CAUSEWAY_CUDNN",
          .advice = fmt::format("install cuDNN {} (pip install nvidia-cudnn-cu{}, or NVIDIA's "
                                "packages), or use the cpu device",
                                CUDNN_MAJOR, CUDART_VERSION / 1000)};
}

}  // namespace

const CudnnLibrary& cudnn() {
  static const auto* const library = new CudnnLibrary{SharedLibrary(search())};
  return *library;
}

}  // namespace cuda

LibraryStatus cudnn_status() {
  try {
    const std::size_t version = cuda::cudnn().cudnnGetVersion();
    return {fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100),
            cuda::cudnn().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::kernels
