// CUDA C++ text of the user's own, compiled by NVRTC and launched with an explicit grid.
#pragma once

#include "causeway/jit/nvrtc.h"
#include "causeway/runtime/device_code.h"
#include "causeway/tensor/tensor.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace causeway::jit {

// A pointer to a tensor's first element, or a number of the C++ type it was made from.
struct RawArgument {
  RawArgument(const Tensor& array) : tensor(array) {}  // NOLINT: implicit
  template <class T>
  requires std::is_arithmetic_v<T> RawArgument(T value) {  // NOLINT: implicit
    std::memcpy(number.data(), &value, sizeof(value));
  }

  std::optional<Tensor> tensor;
  alignas(8) std::array<std::byte, 8> number{};
};

// Copies share one kernel. Thread-safe. Fused multiply-adds are on, as in nvcc.
class RawKernel {
 public:
  // `name` is that of an extern "C" __global__ function. Compiled at the first launch on an
  // architecture.
  RawKernel(std::string source, std::string name, std::vector<std::string> options = {});

  const std::string& name() const;
  // Compiles without a device; throws CudaCompileError.
  Bytes compile(int architecture, CodeKind kind = CodeKind::cubin) const;

  // Queues the kernel on `stream`, which must be of a CUDA device that all tensors are on.
  void launch(StreamView stream, const GridSize& size,
              std::span<const RawArgument> arguments) const;
  KernelResources resources(Device device) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace causeway::jit
