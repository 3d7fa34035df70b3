// Test tensors created and compared by their bytes, for all dtypes.
#pragma once

#include "causeway/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace causeway::data_test {

// Consecutive distinct bytes; 0 and 1 for bools.
inline Tensor patterned(const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype);
  for (std::size_t i = 0; i < tensor.n_bytes(); ++i) {
    tensor.data()[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 3 == 0 : i * 37 + 11);
  }
  return tensor;
}

// The bytes of the elements in row-major order.
inline std::string raw(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  std::string text(packed.n_bytes(), '\0');
  if (!text.empty()) std::memcpy(text.data(), packed.data(), text.size());
  return text;
}

inline void expect_same(const Tensor& found, const Tensor& expected) {
  EXPECT_EQ(found.dtype(), expected.dtype());
  EXPECT_EQ(found.shape(), expected.shape())
      << to_string(found.shape()) << " instead of " << to_string(expected.shape());
  EXPECT_EQ(raw(found), raw(expected));
}

}  // namespace causeway::data_test
