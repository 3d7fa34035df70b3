// Tokens on the CPU. Bytes: the matrix once, the tokens once; bound by the look-ups.
#include "causeway/tokenizer/kernels/tokens.h"

#include "causeway/tokenizer/kernels/column_tiles_cpu.h"
#include "causeway/runtime/fault.h"

#include <atomic>
#include <cstring>
#include <limits>

namespace causeway::kernels::cpu {

namespace {

template <class Body>
void dispatch_token_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::u8: return body(std::uint8_t{});
    case DType::u16: return body(std::uint16_t{});
    default: return body(std::int32_t{});
  }
}

// The first row and column, in row order, with an unexpected missing value.
class Faults {
 public:
  void note(std::int64_t row, std::int64_t column) {
    std::int64_t before = row_.load(std::memory_order_relaxed);
    while (row < before && !row_.compare_exchange_weak(before, row)) continue;
    if (row <= before) column_.store(column);
  }
  void check() const {
    if (row_.load() == kNone) return;
    throw_fault({static_cast<std::int32_t>(FaultSite::tokenizer),
                 static_cast<std::int32_t>(column_.load()), row_.load(), 0});
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_{kNone};
  std::atomic<std::int64_t> column_{0};
};

template <class V, class Token>
void tokens_of(const Columns& columns, const Guides& guides, const TokenRule* rules,
               const Operand& out) {
  const GuideView<V> view(guides);
  const std::int64_t row_stride = out.strides[0];
  Faults faults;
  for_each_tile<V>(columns, Pieces::of_rows(columns), [&](std::int64_t, const Tile<V>& tile) {
    constexpr std::uint32_t kMissing = 0xffffffffu;
    std::uint32_t places[kTileRows];
    locate_tile(view, tile, kMissing, places);
    const TokenRule rule = rules[tile.column];
    auto* to =
        static_cast<Token*>(out.data) + tile.first_row * row_stride + tile.column * out.strides[1];
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const std::int32_t token =
          places[i] == kMissing ? rule.missing : rule.first + static_cast<std::int32_t>(places[i]);
      to[i * row_stride] = static_cast<Token>(token);
    }
    if (rule.missing >= 0) return;
    for (std::int64_t i = 0; i < tile.count; ++i) {
      if (places[i] == kMissing) return faults.note(tile.first_row + i, rule.column);
    }
  });
  faults.check();
}

template <class Token, class Out>
void ones(const Token* tokens, const std::int32_t* firsts, std::int64_t n_rows,
          std::int64_t n_columns, Out* out) {
  const std::int64_t width = firsts[n_columns];
  parallel_for(n_rows, 256, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<void*>(out + begin * width), 0,
                static_cast<std::size_t>((end - begin) * width) * sizeof(Out));
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column < n_columns; ++column) {
        out[row * width + firsts[column] + tokens[row * n_columns + column]] = Out(1);
      }
    }
  });
}

}  // namespace

void write_tokens(StreamView, const Columns& columns, const Guides& guides, const Operand& rules,
                  const Operand& out) {
  dispatch_column_type(columns.values.dtype, [&](auto value) {
    dispatch_token_type(out.dtype, [&](auto token) {
      tokens_of<decltype(value), decltype(token)>(columns, guides,
                                                  static_cast<const TokenRule*>(rules.data), out);
    });
  });
}

void piecewise_linear(StreamView, const Columns& columns, const Operand& pieces,
                      const Operand& out) {
  const auto* all = static_cast<const LinearPiece*>(pieces.data);
  const std::int64_t width = out.shape[1];
  auto* to = static_cast<float*>(out.data);
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const internal::Strided<V> values(columns.values);
    const internal::Strided<bool> missing(columns.missing);
    parallel_for(columns.n_rows(), 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t i = 0; i < width; ++i) {
          const LinearPiece& piece = all[i];
          const V value = values.data[row * values.row + piece.column * values.column];
          const bool marked = missing.data != nullptr &&
                              missing.data[row * missing.row + piece.column * missing.column];
          to[row * width + i] = marked ? 0.0f : linear_component(value, piece);
        }
      }
    });
  });
}

void one_hot(StreamView, const Operand& tokens, const Operand& firsts, const Operand& out) {
  dispatch_token_type(tokens.dtype, [&](auto token) {
    const auto* from = static_cast<const decltype(token)*>(tokens.data);
    const auto* places = static_cast<const std::int32_t*>(firsts.data);
    const std::int64_t n_rows = tokens.shape[0], n_columns = tokens.shape[1];
    if (out.dtype == DType::u8) {
      ones(from, places, n_rows, n_columns, static_cast<std::uint8_t*>(out.data));
    } else {
      ones(from, places, n_rows, n_columns, static_cast<float*>(out.data));
    }
  });
}

}  // namespace causeway::kernels::cpu
