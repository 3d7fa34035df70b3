// Tensors from the bytes of a file and back: row-major, little-endian, packed.
#pragma once

#include "causeway/data/input_check.h"
#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <span>

namespace causeway::data {

// A tensor with a copy of `bytes`, which are as many as shape and type take. Throws a format error
// for a bool that is neither 0 nor 1; `what` names the tensor in it, such as `tensor "mask": `.
Tensor tensor_from_bytes(const Origin& origin, std::string_view what,
                         std::span<const std::byte> bytes, const Shape& shape, DType dtype,
                         Device device);

// The same tensor packed in host memory; itself where it is so already.
Tensor packed_on_host(const Tensor& tensor);

// The bytes of a packed host tensor; valid as long as its memory.
std::span<const std::byte> bytes_of(const Tensor& packed);

}  // namespace causeway::data
