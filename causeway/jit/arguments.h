// Arguments of a launch: checked against the kernel's parameters, then packed for the function that
// was compiled from it.
#pragma once

#include "causeway/jit/traits.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/interpret/interpreter.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace causeway::jit {

// The number of threads of a launch.
inline std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  return total;
}

// How tensors show the elements of an array: their dtype and last dimensions.
struct ElementLayout {
  DType dtype = DType::f32;
  Shape inner;
};
ElementLayout element_layout(const lang::TypeTable& types, lang::TypeId element);

// One parameter's argument: a tensor for an array, otherwise the scalars of a value (1 of a number,
// row-major ones of a vector or matrix, those of a struct in order).
//
// Elements of an array of vectors or matrices are the tensor's last dimensions: array(dtype=vec3)
// takes a tensor of shape (n, 3). Arrays of structs take u8 tensors of shape (n, size in bytes).
// uint32 and uint64 arrays take i32 and i64 tensors, whose bits they are.
struct Argument {
  Argument(const Tensor& array) : tensor(array) {}                         // NOLINT: implicit
  Argument(double number) : numbers{number} {}                             // NOLINT
  Argument(int number) : numbers{number} {}                                // NOLINT
  Argument(std::int64_t number) : numbers{number} {}                       // NOLINT
  Argument(std::vector<kernels::Scalar> all) : numbers(std::move(all)) {}  // NOLINT

  std::optional<Tensor> tensor;
  std::vector<kernels::Scalar> numbers;
};

// Arguments that fit the kernel: what the interpreter takes, and facts for the emitted forms.
struct BoundArguments {
  std::vector<lang::Argument> list;  // one per parameter
  std::vector<std::byte> values;     // what values point to
  Device device;
  bool strided = false;      // some array is not contiguous
  bool overlapping = false;  // an array that is only read shares memory with one that is written
};

// Throws invalid_argument or shape_mismatch errors that name kernel and argument. `device` is where
// a kernel without arrays runs; with arrays, all must be on one device, which must be `device` if
// `device_given`.
BoundArguments bind_arguments(const lang::Module& module, const lang::Function& kernel,
                              const KernelTraits& traits, std::span<const Argument> arguments,
                              Device device, bool device_given);

// Throws unless there is one size per launch dimension, from 0 to about 2^31.
void check_dims(const lang::Function& kernel, std::span<const std::int64_t> dims);

// The tape of an adjoint kernel: 32-bit words, `capacity` for each thread that runs at once.
struct TapeMemory {
  unsigned* words = nullptr;
  int capacity = 0;
  int* needed = nullptr;
};

// Addresses of the arguments of an emitted function.
class PackedArguments {
 public:
  PackedArguments(const lang::Module& module, const lang::Function& kernel,
                  const lang::Emitted& emitted, const BoundArguments& arguments,
                  std::span<const std::int64_t> dims, const TapeMemory& tape = {});

  // With EmitOptions::ranges.
  void set_range(std::int64_t begin, std::int64_t end);
  void** addresses() { return addresses_.data(); }

 private:
  std::vector<std::uint64_t> slots_;  // numbers and pointers
  std::vector<void*> addresses_;
  int* begin_ = nullptr;
  int* end_ = nullptr;
};

}  // namespace causeway::jit
