// Copies, casts and fills. Bound by memory: bytes read plus bytes written.
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"

#include <cstring>
#include <type_traits>

namespace causeway::kernels::cpu {

namespace {

// A transposing copy works in square tiles, so that both sides stay in the cache: `rows` runs of
// `columns` elements, with source stride 1 along the rows.
template <class T>
void copy_transposed(const Loop<2>& loop, const T* from, T* to) {
  constexpr std::int64_t kTile = 32;
  const std::int64_t columns = loop.size[0];
  const std::int64_t rows = loop.size[1];
  const std::int64_t tile_rows = (rows + kTile - 1) / kTile;
  parallel_for(tile_rows, std::max<std::int64_t>(1, kGrain / (kTile * columns)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin * kTile; row < std::min(rows, end * kTile);
                      row += kTile) {
                   const std::int64_t last_row = std::min(rows, row + kTile);
                   for (std::int64_t column = 0; column < columns; column += kTile) {
                     const std::int64_t last_column = std::min(columns, column + kTile);
                     for (std::int64_t r = row; r < last_row; ++r) {
                       for (std::int64_t c = column; c < last_column; ++c) {
                         to[r * loop.stride[0][1] + c] = from[r + c * loop.stride[1][0]];
                       }
                     }
                   }
                 }
               });
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<Compute<From>>(value) != 0;
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    return static_cast<To>(static_cast<std::int64_t>(static_cast<Compute<From>>(value)));
  } else {
    return static_cast<To>(static_cast<Compute<To>>(static_cast<Compute<From>>(value)));
  }
}

}  // namespace

void copy(StreamView, const Operand& in, const Operand& out) {
  const auto loop = make_loop<2>({&out, &in});
  dispatch_size(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    const bool transposed = loop.n_dims == 2 && loop.stride[0][0] == 1 && loop.stride[1][1] == 1 &&
                            loop.stride[1][0] != 1;
    if (transposed) return copy_transposed(loop, from, to);
    for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 2>& offset) {
      if (loop.stride[0][0] == 1 && loop.stride[1][0] == 1) {
        std::memcpy(to + offset[0], from + offset[1], static_cast<std::size_t>(count) * sizeof(T));
      } else {
        map_row(count, from + offset[1], loop.stride[1][0], to + offset[0], loop.stride[0][0],
                [](T x) { return x; });
      }
    });
  });
}

void cast(StreamView, const Operand& in, const Operand& out) {
  const std::int64_t count = numel(out.shape);
  dispatch_all(in.dtype, [&](auto in_tag) {
    using From = typename decltype(in_tag)::type;
    dispatch_all(out.dtype, [&](auto out_tag) {
      using To = typename decltype(out_tag)::type;
      const auto* from = static_cast<const From*>(in.data);
      auto* to = static_cast<To*>(out.data);
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
      });
    });
  });
}

void fill(StreamView, Scalar value, const Operand& out) {
  const auto loop = make_loop<1>({&out});
  dispatch_all(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T typed = scalar_as<T>(value);
    for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 1>& offset) {
      T* to = static_cast<T*>(out.data) + offset[0];
      for (std::int64_t i = 0; i < count; ++i) to[i * loop.stride[0][0]] = typed;
    });
  });
}

void sequence(StreamView, Scalar start, Scalar step, const Operand& out) {
  const std::int64_t count = out.shape[0];
  if (out.dtype == DType::i64) {
    auto* values = static_cast<std::int64_t*>(out.data);
    for (std::int64_t i = 0; i < count; ++i) values[i] = start.integer + i * step.integer;
  } else {
    auto* values = static_cast<double*>(out.data);
    for (std::int64_t i = 0; i < count; ++i) {
      values[i] = start.real + static_cast<double>(i) * step.real;
    }
  }
}

}  // namespace causeway::kernels::cpu
