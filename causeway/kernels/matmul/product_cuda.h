// One matrix product with cuBLASLt, including an epilogue.
#pragma once

#include "causeway/kernels/matmul/matmul.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace causeway::kernels::cuda {

// The cache key of a plan; compared as bytes.
struct Problem {
  std::int64_t m = 0;  // of the row-major product
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t leading_a = 0;
  std::int64_t leading_b = 0;
  std::int64_t batches = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int32_t device = 0;
  std::int32_t alignment = 0;  // common alignment of all addresses, in bytes
  std::uint8_t dtype = 0;      // of a and b; i8 gives i32
  std::uint8_t out_dtype = 0;  // of out and added
  std::uint8_t transposed_a = 0;
  std::uint8_t transposed_b = 0;
  std::uint8_t tf32 = 0;
  std::uint8_t epilogue = 0;  // an Epilogue
  std::uint8_t padding[2] = {};

  friend bool operator<(const Problem& a, const Problem& b) {
    return std::memcmp(&a, &b, sizeof(Problem)) < 0;
  }
};

// Addresses of a product's operands; those the epilogue does not need are null.
struct ProductData {
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  const void* bias = nullptr;
  void* aux = nullptr;
  const void* added = nullptr;  // added to the product, times of_added; layout of `out`
  double of_product = 1;
  double of_added = 0;
};

// The largest power of two, up to 256, that divides all addresses.
int alignment_of(std::initializer_list<const void*> addresses);

// Whether the library has an algorithm for the problem; caches its plan.
bool can_multiply(const Problem& problem);
void multiply(StreamView stream, const Problem& problem, const ProductData& data);

}  // namespace causeway::kernels::cuda
