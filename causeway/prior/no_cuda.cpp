// Replaces the GPU generator in builds without CUDA.
#include "causeway/core/error.h"
#include "causeway/prior/generate.h"

namespace causeway::prior::cuda {

std::size_t scratch_bytes(StreamView, const Recipe&, std::int64_t) {
  fail(ErrorKind::device, "prior", "this build has no CUDA support; use the cpu device");
}

void generate_simple(StreamView, std::uint64_t, const BatchOut&) {
  fail(ErrorKind::device, "prior", "this build has no CUDA support; use the cpu device");
}

void generate(StreamView, const Recipe&, std::uint64_t, const BatchOut&) {
  fail(ErrorKind::device, "prior", "this build has no CUDA support; use the cpu device");
}

}  // namespace causeway::prior::cuda
