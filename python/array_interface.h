// The dictionaries of __array_interface__ and __cuda_array_interface__, which describe memory
// alike.
#pragma once

#include "python/bind.h"

#include <optional>

namespace causeway::python {

// What such a dictionary says.
struct Memory {
  void* data = nullptr;
  Shape shape;
  Strides strides;  // in elements
  DType dtype = DType::f32;
  bool read_only = false;
};

// Describes `x` as elements of type `shown`, which is of the same size. bf16 cannot be shown: it
// raises AttributeError.
nb::dict write_interface(const Tensor& x, DType shown);

// Nothing where an address or a stride is no whole number of elements; throws, naming `operation`,
// for a type that tensors do not have.
std::optional<Memory> read_interface(const char* operation, nb::handle interface);

}  // namespace causeway::python
