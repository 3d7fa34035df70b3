// A large f32 product out of tiles (product.h): blocks that fit the caches, threads sharing the
// rows. Bound by arithmetic.
#pragma once

#include "causeway/kernels/matmul/matmul_layout.h"

#include <cstdint>
#include <functional>

namespace causeway::kernels::cpu {

// What is to be done with rows [begin, end) of a product when they are there, by the thread that
// has them in its cache.
using AfterRows = std::function<void(std::int64_t begin, std::int64_t end)>;

// out = a b for f32 matrices, `out` contiguous, or, if it `adds`, what that held and a b. Returns
// false, and does nothing, where OpenBLAS is the faster way: for other dtypes, for a few rows,
// which are not worth packing what they are multiplied with, and on x86.
bool multiply_blocks(const MatrixLayout& a, const float* a_data, const MatrixLayout& b,
                     const float* b_data, bool adds, float* out, const AfterRows& after = {});

}  // namespace causeway::kernels::cpu
