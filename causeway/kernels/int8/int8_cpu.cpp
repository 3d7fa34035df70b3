// Rounding to 8-bit integers and linear layers of them on the CPU. Bytes of int8_linear: the weight
// once per kBlock rows of x. Bound by arithmetic.
#include "causeway/kernels/int8/int8.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/int8/dot_cpu.h"
#include "causeway/kernels/int8/int8_device.h"
#include "causeway/kernels/loop_cpu.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 64;  // rows of x that stay in a cache

// Returns the scale.
template <class T>
float quantize_row(const T* from, std::int64_t count, std::int8_t* to) {
  std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, magnitude_bits(static_cast<float>(from[i])));
  }
  const float scale = magnitude_of(largest) / kLargestInt8;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::int8_t>(
        rounded_quotient(static_cast<float>(from[i]), scale, kLargestInt8));
  }
  return scale;
}

std::vector<std::int32_t> sums_of_rows(const std::int8_t* rows, std::int64_t n_rows,
                                       std::int64_t n_columns) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(n_rows));
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::int8_t* row = rows + i * n_columns;
    sums[static_cast<std::size_t>(i)] = std::accumulate(row, row + n_columns, std::int32_t{0});
  }
  return sums;
}

}  // namespace

void quantize_rows(StreamView, const Operand& matrix, const Operand& values,
                   const Operand& scales) {
  const std::int64_t n_columns = matrix.shape[1];
  dispatch_floating(matrix.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t grain = kGrain / std::max<std::int64_t>(n_columns, 1) + 1;
    parallel_for(matrix.shape[0], grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        static_cast<float*>(scales.data)[row] =
            quantize_row(static_cast<const T*>(matrix.data) + row * n_columns, n_columns,
                         static_cast<std::int8_t*>(values.data) + row * n_columns);
      }
    });
  });
}

void int8_linear(StreamView, const Operand& x, const Operand& x_scales, const Operand& weight,
                 const Operand& weight_scales, const Operand& bias, const Operand& out) {
  const std::int64_t n_rows = x.shape[0];
  const std::int64_t n_outputs = weight.shape[0];
  const std::int64_t n_columns = x.shape[1];
  const auto* inputs = static_cast<const std::int8_t*>(x.data);
  const auto* weights = static_cast<const std::int8_t*>(weight.data);
  const auto* of_inputs = static_cast<const float*>(x_scales.data);
  const auto* of_weights = static_cast<const float*>(weight_scales.data);
  const auto* biases = static_cast<const float*>(bias.data);
  const std::vector<std::int32_t> input_sums = sums_of_rows(inputs, n_rows, n_columns);
  const auto multiply = int8_paths().front().multiply;
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* results = static_cast<T*>(out.data);
    // Rows beyond the last are computed as the last, and not stored.
    const auto run_tile = [&](std::int64_t row, std::int64_t output) {
      Int8Tile tile;
      tile.count = n_columns;
      for (std::int64_t i = 0; i < kTileInputs; ++i) {
        const std::int64_t at = std::min(row + i, n_rows - 1);
        tile.inputs[i] = inputs + at * n_columns;
        tile.input_sums[i] = input_sums[static_cast<std::size_t>(at)];
      }
      for (std::int64_t w = 0; w < kTileWeights; ++w) {
        tile.weights[w] = weights + std::min(output + w, n_outputs - 1) * n_columns;
      }
      Int8Sums sums;
      multiply(tile, sums);
      for (std::int64_t i = 0; i < std::min<std::int64_t>(kTileInputs, n_rows - row); ++i) {
        for (std::int64_t w = 0; w < std::min<std::int64_t>(kTileWeights, n_outputs - output);
             ++w) {
          const std::int64_t at = output + w;
          results[(row + i) * n_outputs + at] =
              static_cast<T>(scaled_sum(sums[i][w], of_inputs[row + i], of_weights[at],
                                        biases != nullptr ? biases[at] : 0.0f));
        }
      }
    };
    const std::int64_t n_tiles = (n_outputs + kTileWeights - 1) / kTileWeights;
    parallel_for(n_tiles, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = 0; block < n_rows; block += kBlock) {
        for (std::int64_t at = begin; at < end; ++at) {
          for (std::int64_t row = block; row < std::min(block + kBlock, n_rows);
               row += kTileInputs) {
            run_tile(row, at * kTileWeights);
          }
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
