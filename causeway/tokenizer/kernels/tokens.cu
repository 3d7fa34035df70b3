// Token kernels on the GPU. Bytes: the matrix once and the tokens once, 5 per f32 that becomes a
// u8. A look-up reads one 8-byte word of shared memory, which holds a cell and its first threshold,
// and a second one for the few cells with more thresholds.
#include "causeway/tokenizer/kernels/tokens.h"

#include "causeway/tokenizer/kernels/column_walk.cuh"
#include "causeway/kernels/vectors.cuh"
#include "causeway/runtime/fault.h"

namespace causeway::kernels::cuda {

namespace {

extern __shared__ __align__(16) std::byte token_space[];

// A cell together with its first threshold.
template <class V>
struct alignas(2 * sizeof(V)) Entry {
  V threshold;
  std::uint32_t cell;
};

// A column's tables: entries, then thresholds.
template <class V>
struct TokenGuide {
  const Entry<V>* entries;
  const V* thresholds;
  GuideReal<V> low;
  GuideReal<V> scale;
  bool by_key;
  std::int32_t n_cells;

  __device__ __forceinline__ std::int32_t locate(V value) const {
    const Entry<V> entry = entries[guide_cell(value, low, scale, by_key, n_cells)];
    const std::uint32_t first = entry.cell & 0xffffu;
    const std::uint32_t count = entry.cell >> 16;
    const bool reached = count > 0 && value >= entry.threshold;
    if (count > 1 && reached) {
      return static_cast<std::int32_t>(
          search_cell(value, pack_cell(first + 1, count - 1), thresholds));
    }
    return static_cast<std::int32_t>(first + (reached ? 1 : 0));
  }
};

template <class V>
std::size_t token_guide_bytes(const GuideView<V>& guides) {
  return (sizeof(Entry<V>) * static_cast<std::size_t>(guides.n_cells) +
          sizeof(V) * static_cast<std::size_t>(guides.pitch) + 15) /
         16 * 16;
}

template <class V>
__device__ __forceinline__ void fill_tables(const GuideView<V>& guides, std::int32_t column,
                                            std::byte* space) {
  auto* entries = reinterpret_cast<Entry<V>*>(space);
  auto* thresholds = reinterpret_cast<V*>(entries + guides.n_cells);
  const V* from = guides.thresholds + std::int64_t{column} * guides.pitch;
  const std::uint32_t* cells = guides.cells + std::int64_t{column} * guides.n_cells;
  const std::int32_t n = guides.columns[column].n_thresholds;
  for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x) thresholds[i] = from[i];
  for (std::int32_t i = threadIdx.x; i < guides.n_cells; i += blockDim.x) {
    const std::uint32_t cell = cells[i];
    entries[i] = {(cell >> 16) > 0 ? from[cell & 0xffffu] : V{}, cell};
  }
}

template <class V>
__device__ __forceinline__ TokenGuide<V> guide_at(const GuideView<V>& guides, std::int32_t column,
                                                  const std::byte* space) {
  const GuideColumn head = guides.columns[column];
  const auto* entries = reinterpret_cast<const Entry<V>*>(space);
  return {entries,
          reinterpret_cast<const V*>(entries + guides.n_cells),
          static_cast<GuideReal<V>>(head.low),
          static_cast<GuideReal<V>>(head.scale),
          head.by_key != 0,
          guides.n_cells};
}

// The first thread that finds an unexpected missing value reports it.
__device__ __noinline__ void report_missing(FaultReport report, std::int32_t column,
                                            std::int64_t row) {
  if (atomicCAS(report.taken, 0, 1) != 0) return;
  report.record->axis = column;
  report.record->index = row;
  report.record->bound = 0;
  report.record->site = static_cast<std::int32_t>(FaultSite::tokenizer);
}

template <class Token>
struct TokenOutput {
  Token* data;
  std::int64_t row;  // strides
  std::int64_t column;
};

template <class V, class Token>
__global__ void __launch_bounds__(1024)
    tokens_kernel(DeviceColumns<V> columns, GuideView<V> guides, std::int32_t group,
                  std::size_t stride, const TokenRule* rules, TokenOutput<Token> out,
                  FaultReport report) {
  const Lane<V> lane(columns, group);
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * group;
  const std::int32_t n_own = min(group, columns.n_columns - first);
  for (std::int32_t c = 0; c < n_own; ++c) fill_tables(guides, first + c, token_space + c * stride);
  __syncthreads();
  if (lane.idle) return;
  const TokenGuide<V> guide = guide_at(guides, lane.column, token_space + lane.in_group * stride);
  const TokenRule rule = rules[lane.column];
  Token* to = out.data + lane.column * out.column;
  walk_rows<8>(columns, lane, [&](V value, bool missing, std::int64_t row) {
    const std::int32_t token = missing ? rule.missing : rule.first + guide.locate(value);
    if (missing && rule.missing < 0) report_missing(report, rule.column, row);
    to[row * out.row] = static_cast<Token>(token);
  });
}

// Variant with tables in global memory.
template <class V, class Token>
__global__ void __launch_bounds__(1024)
    tokens_global_kernel(DeviceColumns<V> columns, GuideView<V> guides, std::int32_t group,
                         const TokenRule* rules, TokenOutput<Token> out, FaultReport report) {
  const Lane<V> lane(columns, group);
  if (lane.idle) return;
  const SharedGuide<V> guide = global_guide(guides, lane.column);
  const TokenRule rule = rules[lane.column];
  Token* to = out.data + lane.column * out.column;
  walk_rows<4>(columns, lane, [&](V value, bool missing, std::int64_t row) {
    const std::int32_t place = missing ? 0 : static_cast<std::int32_t>(guide.locate(value));
    if (missing && rule.missing < 0) report_missing(report, rule.column, row);
    to[row * out.row] = static_cast<Token>(missing ? rule.missing : rule.first + place);
  });
}

constexpr int kVectorThreads = 256;
constexpr int kVectorsAtOnce = 4;

// Column-major values and tokens: reads vectors of 16 bytes and writes as many tokens.
template <class V, class Token>
__global__ void __launch_bounds__(kVectorThreads)
    column_tokens_kernel(DeviceColumns<V> columns, GuideView<V> guides, const TokenRule* rules,
                         TokenOutput<Token> out, FaultReport report) {
  constexpr int kVec = static_cast<int>(16 / sizeof(V));
  constexpr std::int64_t kTile = std::int64_t{kVectorThreads} * kVec * kVectorsAtOnce;
  const auto column = static_cast<std::int32_t>(blockIdx.x);
  fill_tables(guides, column, token_space);
  __syncthreads();
  const TokenGuide<V> guide = guide_at(guides, column, token_space);
  const TokenRule rule = rules[column];
  const V* values = columns.values + column * columns.column;
  Token* to = out.data + column * out.column;
  const auto token_of = [&](V value, std::int64_t row) {
    const bool missing = is_missing(value);
    if (missing && rule.missing < 0) report_missing(report, rule.column, row);
    return static_cast<Token>(missing ? rule.missing : rule.first + guide.locate(value));
  };
  for (std::int64_t tile = blockIdx.y; tile * kTile < columns.n_rows; tile += gridDim.y) {
    const std::int64_t base = tile * kTile;
    if (base + kTile <= columns.n_rows) {
      Vector<V, kVec> in[kVectorsAtOnce];
#pragma unroll
      for (int i = 0; i < kVectorsAtOnce; ++i) {
        in[i] = load_vector<kVec>(values + base + (i * kVectorThreads + threadIdx.x) * kVec);
      }
#pragma unroll
      for (int i = 0; i < kVectorsAtOnce; ++i) {
        const std::int64_t row = base + (i * kVectorThreads + threadIdx.x) * kVec;
        Vector<Token, kVec> tokens;
#pragma unroll
        for (int k = 0; k < kVec; ++k) tokens.value[k] = token_of(in[i].value[k], row + k);
        store_vector(to + row, tokens);
      }
    } else {
      for (std::int64_t row = base + threadIdx.x; row < columns.n_rows; row += kVectorThreads) {
        to[row] = token_of(values[row], row);
      }
    }
  }
}

template <class V, class Token>
bool takes_vectors(const DeviceColumns<V>& columns, const TokenOutput<Token>& out) {
  constexpr std::size_t kOut = 16 / sizeof(V) * sizeof(Token);
  const auto aligned = [](const void* data, std::int64_t pitch, std::size_t size,
                          std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0 &&
           static_cast<std::size_t>(pitch) * size % alignment == 0;
  };
  return columns.missing == nullptr && columns.row == 1 && out.row == 1 && columns.column >= 0 &&
         out.column >= 0 && (columns.n_columns == 1 || columns.column > 0) &&
         aligned(columns.values, columns.n_columns > 1 ? columns.column : 0, sizeof(V), 16) &&
         aligned(out.data, columns.n_columns > 1 ? out.column : 0, sizeof(Token),
                 kOut < 2 ? 2 : kOut);
}

template <class V, class Token>
void write(StreamView stream, const Columns& from, const Guides& guides, const Operand& rules,
           const Operand& to) {
  const DeviceColumns<V> columns(from);
  const GuideView<V> view(guides);
  const TokenOutput<Token> out{static_cast<Token*>(to.data), to.strides[0], to.strides[1]};
  const auto* rule_list = static_cast<const TokenRule*>(rules.data);
  const FaultReport report = fault_report(stream.device());
  const std::size_t bytes = token_guide_bytes(view);
  Walk walk;
  if (!Walk::plan(columns, bytes, stream.device(), walk)) {
    Walk::plan(columns, 0, stream.device(), walk);
    launch({"write_tokens", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads))},
           tokens_global_kernel<V, Token>, columns, view, walk.group, rule_list, out, report);
    return;
  }
  if (takes_vectors(columns, out)) {
    constexpr std::int64_t kTile = std::int64_t{kVectorThreads} * (16 / sizeof(V)) * kVectorsAtOnce;
    const std::int64_t n_tiles = (columns.n_rows + kTile - 1) / kTile;
    const int resident = std::max(1, std::min<int>(8, static_cast<int>(225 * 1024 / bytes)));
    const std::int64_t wave =
        std::max<std::int64_t>(1, std::int64_t{chip_limits(stream.device()).multiprocessors} *
                                      resident / columns.n_columns);
    const dim3 grid(static_cast<unsigned>(columns.n_columns),
                    static_cast<unsigned>(std::min<std::int64_t>({n_tiles, wave, 65535})));
    launch({"write_tokens", stream, grid, dim3(kVectorThreads), bytes},
           column_tokens_kernel<V, Token>, columns, view, rule_list, out, report);
    return;
  }
  launch({"write_tokens", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
          walk.shared_bytes},
         tokens_kernel<V, Token>, columns, view, walk.group, bytes, rule_list, out, report);
}

template <class V>
__global__ void __launch_bounds__(kThreads)
    linear_kernel(DeviceColumns<V> columns, const LinearPiece* pieces, std::int64_t width,
                  float* out) {
  const std::int64_t count = columns.n_rows * width;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    const std::int64_t row = i / width;
    const LinearPiece piece = pieces[i - row * width];
    const V value = columns.values[row * columns.row + piece.column * columns.column];
    const bool marked =
        columns.missing != nullptr &&
        columns.missing[row * columns.missing_row + piece.column * columns.missing_column];
    out[i] = marked ? 0.0f : linear_component(value, piece);
  }
}

// Finds the column of an output by binary search; a table of columns would need as many reads.
template <class Token, class Out>
__global__ void __launch_bounds__(kThreads)
    one_hot_kernel(const Token* tokens, const std::int32_t* firsts, std::int32_t n_columns,
                   std::int64_t n_rows, Out* out) {
  const std::int64_t width = firsts[n_columns];
  const std::int64_t count = n_rows * width;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    const std::int64_t row = i / width;
    const auto at = static_cast<std::int32_t>(i - row * width);
    std::int32_t column = 0, end = n_columns;
    while (end - column > 1) {
      const std::int32_t middle = (column + end) / 2;
      if (firsts[middle] <= at) {
        column = middle;
      } else {
        end = middle;
      }
    }
    const auto token = static_cast<std::int32_t>(tokens[row * n_columns + column]);
    out[i] = firsts[column] + token == at ? Out(1) : Out(0);
  }
}

dim3 enough_blocks(std::int64_t count) {
  return dim3(
      static_cast<unsigned>(std::min<std::int64_t>((count + kThreads - 1) / kThreads, 65536)));
}

template <class Body>
void dispatch_token_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::u8: return body(std::uint8_t{});
    case DType::u16: return body(std::uint16_t{});
    default: return body(std::int32_t{});
  }
}

}  // namespace

void write_tokens(StreamView stream, const Columns& columns, const Guides& guides,
                  const Operand& rules, const Operand& out) {
  dispatch_column_type(columns.values.dtype, [&](auto value) {
    dispatch_token_type(out.dtype, [&](auto token) {
      write<decltype(value), decltype(token)>(stream, columns, guides, rules, out);
    });
  });
}

void piecewise_linear(StreamView stream, const Columns& columns, const Operand& pieces,
                      const Operand& out) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch({"piecewise_linear", stream, enough_blocks(numel(out.shape)), dim3(kThreads)},
           linear_kernel<V>, DeviceColumns<V>(columns),
           static_cast<const LinearPiece*>(pieces.data), out.shape[1],
           static_cast<float*>(out.data));
  });
}

void one_hot(StreamView stream, const Operand& tokens, const Operand& firsts, const Operand& out) {
  dispatch_token_type(tokens.dtype, [&](auto tag) {
    using Token = decltype(tag);
    const auto* from = static_cast<const Token*>(tokens.data);
    const auto* places = static_cast<const std::int32_t*>(firsts.data);
    const auto n_columns = static_cast<std::int32_t>(tokens.shape[1]);
    const Launch how("one_hot", stream, enough_blocks(numel(out.shape)), dim3(kThreads));
    if (out.dtype == DType::u8) {
      launch(how, one_hot_kernel<Token, std::uint8_t>, from, places, n_columns, tokens.shape[0],
             static_cast<std::uint8_t*>(out.data));
    } else {
      launch(how, one_hot_kernel<Token, float>, from, places, n_columns, tokens.shape[0],
             static_cast<float*>(out.data));
    }
  });
}

}  // namespace causeway::kernels::cuda
