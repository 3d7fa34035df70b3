// Products of 8-bit integers. A row of numbers is rounded to integers from -127 to 127 with one f32
// scale, its largest magnitude / 127. Sums of products of integers are exact, so every
// implementation and device has the same ones.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>

namespace causeway::kernels {

// values (rows, columns) i8 and scales (rows) f32 of a contiguous floating matrix (rows, columns).
// A row of zeros has a scale of 0; a row with a value that is not finite a scale that is not
// finite.
CAUSEWAY_KERNEL(quantize_rows, const Operand& matrix, const Operand& values, const Operand& scales);

// out (m, n) = x weight' * x_scales * weight_scales + bias, for x (m, k) and weight (n, k) i8.
// Scales and bias (n) are f32, `out` is a floating type; `bias` may be empty. All operands are
// contiguous.
CAUSEWAY_KERNEL(int8_linear, const Operand& x, const Operand& x_scales, const Operand& weight,
                const Operand& weight_scales, const Operand& bias, const Operand& out);

// With more columns a sum may exceed 32 bits.
inline constexpr std::int64_t kMaxInt8Columns = (std::int64_t{1} << 17) - 1;

// Whether int8_linear on `device` takes m rows of x, n rows of the weight and k columns.
bool takes_int8_linear(Device device, std::int64_t m, std::int64_t n, std::int64_t k);

namespace cuda {
bool takes_int8_linear(Device device, std::int64_t m, std::int64_t n, std::int64_t k);
}  // namespace cuda

}  // namespace causeway::kernels
