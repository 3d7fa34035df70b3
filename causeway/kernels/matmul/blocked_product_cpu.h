// A large f32 product from tiles (product_cpu.h): blocks sized for the caches, rows distributed
// over threads. Bound by arithmetic.
#pragma once

#include "causeway/kernels/matmul/bf16_product_cpu.h"
#include "causeway/kernels/matmul/matmul_layout.h"

#include <cstdint>
#include <functional>

namespace causeway::kernels::cpu {

// Called when rows [begin, end) of a product are complete, in the thread that has them in its
// cache.
using AfterRows = std::function<void(std::int64_t begin, std::int64_t end)>;

// out = a b for f32 matrices, or out += a b if `adds`; `out` is contiguous. Returns false and does
// nothing where OpenBLAS is faster: on x86, and for few rows, which do not amortise the packing.
bool multiply_blocks(const MatrixLayout& a, const float* a_data, const MatrixLayout& b,
                     const float* b_data, bool adds, float* out, const AfterRows& after = {});
// out = a b of elements rounded to bf16, for any number of rows. `a` is not transposed.
void multiply_blocks(const Bf16Kernels& kernels, const MatrixLayout& a, const float* a_data,
                     const MatrixLayout& b, const float* b_data, float* out,
                     const AfterRows& after = {});

}  // namespace causeway::kernels::cpu
