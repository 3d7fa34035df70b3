// Reads and writes the dictionaries of __array_interface__ and __cuda_array_interface__.
#pragma once

#include "python/bind.h"

#include <optional>

namespace causeway::python {

// The content of such a dictionary.
struct Memory {
  void* data = nullptr;
  Shape shape;
  Strides strides;  // in elements
  DType dtype = DType::f32;
  bool read_only = false;
};

// Describes `x` with elements of type `shown`, which has the same size. Raises AttributeError for
// bf16.
nb::dict write_interface(const Tensor& x, DType shown);

// nullopt if the address or a stride is not a multiple of the element size; throws, naming
// `operation`, for unsupported types.
std::optional<Memory> read_interface(const char* operation, nb::handle interface);

}  // namespace causeway::python
