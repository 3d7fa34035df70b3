#include "causeway/kernels/matmul/cublas_cuda.h"

#include "causeway/kernels/libraries.h"

#include <fmt/format.h>

namespace causeway::kernels {

namespace cuda {

namespace {

LibrarySearch search() {
  return {.name = "cuBLASLt",
          .files = {fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)},
          .wheels = {fmt::format("cu{}/lib", CUBLAS_VER_MAJOR), "cublas/lib"},
          .variable = "CAUSEWAY_CUBLASLT",
          .advice = fmt::format("install the libraries of CUDA {} (pip install nvidia-cublas, or "
                                "NVIDIA's toolkit), or use the cpu device",
                                CUBLAS_VER_MAJOR)};
}

}  // namespace

const CublasLt& cublas() {
  static const auto* const library = new CublasLt{SharedLibrary(search())};
  return *library;
}

}  // namespace cuda

LibraryStatus cublas_status() {
  try {
    const std::size_t version = cuda::cublas().cublasLtGetVersion();
    return {fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100),
            cuda::cublas().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::kernels
