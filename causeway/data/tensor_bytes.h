// Conversion between tensors and file bytes: row-major, little-endian, packed.
#pragma once

#include "causeway/data/input_check.h"
#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <span>

namespace causeway::data {

// A tensor with a copy of `bytes`, whose size must match shape and dtype. Throws a format error for
// a bool other than 0 and 1; `what` names the tensor in it, such as `tensor "mask": `.
Tensor tensor_from_bytes(const Origin& origin, std::string_view what,
                         std::span<const std::byte> bytes, const Shape& shape, DType dtype,
                         Device device);

// The tensor packed in host memory; itself if it already is.
Tensor packed_on_host(const Tensor& tensor);

// The bytes of a packed host tensor; valid as long as its memory.
std::span<const std::byte> bytes_of(const Tensor& packed);

}  // namespace causeway::data
