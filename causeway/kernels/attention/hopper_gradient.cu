// The gradients on Hopper, with products of warpgroups (wgmma): the two kernels of
// flash_gradient.cuh with tiles of 64 rows on both sides. Operations: 14 per query, key and
// feature. Three or four blocks per multiprocessor hide each other's exponentials and copies.
// Bound by the tensor cores with 64 features (0.27 of their limit at 256 rows, 0.37 at 2,048), by
// the exponentials with 32. With 64 features four blocks would spill registers; three are faster
// than two, although the compiler then serialises products to save registers.
#include "causeway/kernels/attention/flash_gradient.cuh"
#include "causeway/kernels/attention/wgmma.cuh"

namespace causeway::kernels::cuda {

namespace {

template <int kHead>
struct HopperPlan {
  static constexpr int kTile = kGroupTile<kHead>;
  static constexpr int kQueryBlocks = kHead == 32 ? 4 : 3;  // per multiprocessor
  static constexpr int kKeyBlocks = 3;
  static constexpr std::size_t kQueryShared = 6 * kTile * 2;
  static_assert(2 * kGroupRows * kTileStride<kHead> <= 6 * kTile);  // of store_key_gradients
  // Followed by the logarithms and dots of two tiles of queries.
  static constexpr std::size_t kKeyShared = kQueryShared + 4 * kGroupRows * sizeof(float);
};

template <class T, int kHead>
__global__ void __launch_bounds__(kGroupThreads, HopperPlan<kHead>::kQueryBlocks)
    hopper_query_gradient_kernel(AttentionShape shape, GradientViews<T> views, float* dots,
                                 int n_tiles) {
  constexpr int kTile = HopperPlan<kHead>::kTile;
  const TilePlace place(shape, n_tiles);
  const int first = (n_tiles - 1 - place.tile) * kGroupRows;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  const HeadRows<const T> gradient = views.gradient.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(swizzled_memory());
  T* gradients = queries + kTile;
  T* keys = gradients + kTile;
  T* values = keys + 2 * kTile;

  const int last = min(first + kGroupRows, shape.n_queries) - 1;
  const int n_key_tiles = (max(shape.seen(last, limit), 0) + kGroupRows - 1) / kGroupRows;
  const auto copy_keys = [&](int tile) {
    const int stage = tile % 2 * kTile;
    copy_group_tile<kHead>(keys + stage, k, tile * kGroupRows, limit, shape.head_size);
    copy_group_tile<kHead>(values + stage, v, tile * kGroupRows, limit, shape.head_size);
  };
  copy_group_tile<kHead>(queries, views.q.of(place.entry, place.head), first, shape.n_queries,
                         shape.head_size);
  copy_group_tile<kHead>(gradients, gradient, first, shape.n_queries, shape.head_size);
  if (n_key_tiles > 0) copy_keys(0);
  end_copies();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  float dot[2];
  float logarithm[2];
  row_dots<T, kHead>(dot, gradient, views.out.of(place.entry, place.head), first + warp_row,
                     shape.n_queries, shape);
  const HeadRows<const float> log_sum = views.log_sum.of(place.entry, place.head);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = first + warp_row + lane / 4 + 8 * half;
    logarithm[half] = query_logarithm(log_sum, query, shape.n_queries);
    if (query < shape.n_queries && lane % 4 == 0) {
      dots[place.sequence * shape.n_queries + query] = dot[half];
    }
  }
  const GroupOperand<kHead> query_rows(queries);
  const GroupOperand<kHead> gradient_rows(gradients);
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float sums[kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    wait_for_group_copies();
    __syncthreads();  // this tile has arrived, the previous one has been read
    if (i + 1 < n_key_tiles) copy_keys(i + 1);
    end_copies();
    const GroupOperand<kHead> key_rows(keys + i % 2 * kTile);
    const GroupOperand<kHead> value_rows(values + i % 2 * kTile);
    float score[8][4];
    float slope[8][4];
    begin_products();
    multiply_group_rows<T>(score, query_rows, key_rows);
    end_products();
    multiply_group_rows<T>(slope, gradient_rows, value_rows);
    end_products();
    wait_for_products<1>();
    finish(score);
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      float& value = score[j / 4][j % 4];
      value = power_of_2(value * scale - logarithm[j / 2 % 2]);
    }
    if (shape.seen(first, limit) < (i + 1) * kGroupRows) {
#pragma unroll
      for (int j = 0; j < 32; ++j) {
        const int key = i * kGroupRows + 8 * (j / 4) + 2 * (lane % 4) + j % 2;
        const int query = first + warp_row + lane / 4 + 8 * (j / 2 % 2);
        if (key >= shape.seen(query, limit)) score[j / 4][j % 4] = 0;
      }
    }
    wait_for_products<0>();
    finish(slope);
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      slope[j / 4][j % 4] = (slope[j / 4][j % 4] - dot[j / 2 % 2]) * score[j / 4][j % 4];
    }
    std::uint32_t a[4][4];
    round_group<T>(a, slope);
    begin_products();
    add_group_rows<T, kHead>(sums, a, key_rows);
    end_products();
    wait_for_products<0>();
    finish(sums);
  }
  wait_for_copies<0>();
  __syncthreads();  // all tiles have been read
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  store_rows<T, kHead>(queries + warp_row * kTileStride<kHead>, sums, factor,
                       views.q_gradient.of(place.entry, place.head), first + warp_row,
                       shape.n_queries, shape);
}

template <class T, int kHead>
__global__ void __launch_bounds__(kGroupThreads, HopperPlan<kHead>::kKeyBlocks)
    hopper_key_gradient_kernel(AttentionShape shape, GradientViews<T> views, const float* dots,
                               int n_tiles) {
  constexpr int kTile = HopperPlan<kHead>::kTile;
  const TilePlace place(shape, n_tiles);
  const int first = place.tile * kGroupRows;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> q = views.q.of(place.entry, place.head);
  const HeadRows<const T> gradient = views.gradient.of(place.entry, place.head);
  const HeadRows<const float> log_sum = views.log_sum.of(place.entry, place.head);
  T* keys = reinterpret_cast<T*>(swizzled_memory());
  T* values = keys + kTile;
  T* queries = values + kTile;
  T* gradients = queries + 2 * kTile;
  float* logarithms = reinterpret_cast<float*>(gradients + 2 * kTile);
  float* row_dots = logarithms + 2 * kGroupRows;

  // Earlier queries attend to none of the keys.
  const int before = shape.causal ? max(first - (shape.n_keys - shape.n_queries), 0) : 0;
  const int first_tile = before / kGroupRows;
  const int n_query_tiles =
      first < limit ? (shape.n_queries + kGroupRows - 1) / kGroupRows : first_tile;
  const auto copy_queries = [&](int tile) {
    const int begin = tile * kGroupRows;
    const int stage = tile % 2 * kTile;
    copy_group_tile<kHead>(queries + stage, q, begin, shape.n_queries, shape.head_size);
    copy_group_tile<kHead>(gradients + stage, gradient, begin, shape.n_queries, shape.head_size);
  };
  // Half of the threads fetch a logarithm each, the others a dot.
  const int column = static_cast<int>(threadIdx.x) % kGroupRows;
  const bool fetches_dot = threadIdx.x >= kGroupRows;
  const auto statistic = [&](int tile) {
    const int query = tile * kGroupRows + column;
    if (!fetches_dot) return query_logarithm(log_sum, query, shape.n_queries);
    return query < shape.n_queries ? dots[place.sequence * shape.n_queries + query] : 0.0f;
  };
  const auto store_statistic = [&](int tile, float value) {
    (fetches_dot ? row_dots : logarithms)[tile % 2 * kGroupRows + column] = value;
  };
  copy_group_tile<kHead>(keys, views.k.of(place.entry, place.head), first, limit, shape.head_size);
  copy_group_tile<kHead>(values, views.v.of(place.entry, place.head), first, limit,
                         shape.head_size);
  if (first_tile < n_query_tiles) {
    copy_queries(first_tile);
    store_statistic(first_tile, statistic(first_tile));
  }
  end_copies();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const GroupOperand<kHead> key_rows(keys);
  const GroupOperand<kHead> value_rows(values);
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float k_sums[1][kHead / 8][4] = {};
  float v_sums[1][kHead / 8][4] = {};
  for (int tile = first_tile; tile < n_query_tiles; ++tile) {
    wait_for_group_copies();
    __syncthreads();  // this tile has arrived, the previous one has been read
    float next = 0;
    if (tile + 1 < n_query_tiles) {
      copy_queries(tile + 1);
      next = statistic(tile + 1);
    }
    end_copies();
    const GroupOperand<kHead> query_rows(queries + tile % 2 * kTile);
    const GroupOperand<kHead> gradient_rows(gradients + tile % 2 * kTile);
    const float* logarithm = logarithms + tile % 2 * kGroupRows + 2 * (lane % 4);
    const float* dot = row_dots + tile % 2 * kGroupRows + 2 * (lane % 4);
    float score[8][4];
    float slope[8][4];
    std::uint32_t a[4][4];
    begin_products();
    multiply_group_rows<T>(score, key_rows, query_rows);
    end_products();
    multiply_group_rows<T>(slope, value_rows, gradient_rows);
    end_products();
    wait_for_products<1>();
    finish(score);
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      float& value = score[j / 4][j % 4];
      value = power_of_2(value * scale - logarithm[8 * (j / 4) + j % 2]);
    }
    if (shape.causal && shape.seen(tile * kGroupRows, limit) < first + kGroupRows) {
#pragma unroll
      for (int j = 0; j < 32; ++j) {
        const int key = first + warp_row + lane / 4 + 8 * (j / 2 % 2);
        const int query = tile * kGroupRows + 8 * (j / 4) + 2 * (lane % 4) + j % 2;
        if (key >= shape.seen(query, limit)) score[j / 4][j % 4] = 0;
      }
    }
    round_group<T>(a, score);
    wait_for_products<0>();
    finish(slope);
    begin_products();
    add_group_rows<T, kHead>(v_sums[0], a, gradient_rows);
    end_products();
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      slope[j / 4][j % 4] = (slope[j / 4][j % 4] - dot[8 * (j / 4) + j % 2]) * score[j / 4][j % 4];
    }
    std::uint32_t b[4][4];
    round_group<T>(b, slope);
    begin_products();
    add_group_rows<T, kHead>(k_sums[0], b, query_rows);
    end_products();
    if (tile + 1 < n_query_tiles) store_statistic(tile + 1, next);
    wait_for_products<0>();
    finish(v_sums[0]);
    finish(k_sums[0]);
  }
  wait_for_copies<0>();
  __syncthreads();  // all tiles have been read
  store_key_gradients<T, kHead>(k_sums, v_sums, keys, keys + kGroupRows * kTileStride<kHead>,
                                warp_row, views, place, first, limit, shape);
}

template <class T>
void run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const GradientViews<T> views = gradient_views<T>(call, gradients);
  const auto rows = static_cast<std::size_t>(shape.n_sequences * shape.n_queries);
  const Buffer dots = pool_of(stream.device()).allocate(rows * sizeof(float), stream);
  auto* to = reinterpret_cast<float*>(dots.data());
  const auto start = [&](auto head) {
    using Plan = HopperPlan<head()>;
    const auto blocks = [&](int n_tiles) {
      return dim3(static_cast<unsigned>(shape.n_sequences * n_tiles));
    };
    const int query_tiles = (shape.n_queries + kGroupRows - 1) / kGroupRows;
    launch({"attention_gradient", stream, blocks(query_tiles), dim3(kGroupThreads),
            Plan::kQueryShared},
           hopper_query_gradient_kernel<T, head()>, shape, views, to, query_tiles);
    const int key_tiles = (shape.n_keys + kGroupRows - 1) / kGroupRows;
    if (key_tiles == 0) return;
    launch({"attention_gradient", stream, blocks(key_tiles), dim3(kGroupThreads), Plan::kKeyShared},
           hopper_key_gradient_kernel<T, head()>, shape, views, to, key_tiles);
  };
  if (shape.head_size <= 32) return start(std::integral_constant<int, 32>());
  start(std::integral_constant<int, 64>());
}

}  // namespace

void hopper_gradient(StreamView stream, const AttentionCall& call,
                     const AttentionGradients& gradients) {
  if (hopper_whole_gradient(stream, call, gradients)) return;
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call, gradients);
  run<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
