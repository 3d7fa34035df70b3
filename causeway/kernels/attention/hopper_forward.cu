// The forward pass on Hopper, with products of warpgroups (wgmma): the kernel of flash.cuh with
// tiles of 64 queries. Four or five blocks per multiprocessor hide each other's exponentials and
// copies. Bound by memory up to a few hundred keys (64 features, 256 rows: 0.43 of its limit), then
// by tensor cores and exponentials alike (2,048 rows: 0.32 of the limit of either).
#include "causeway/kernels/attention/flash.cuh"
#include "causeway/kernels/attention/wgmma.cuh"

namespace causeway::kernels::cuda {

namespace {

constexpr int kTiles = 5;  // one of queries, two of keys and two of values

template <class T, int kHead>
__global__ void __launch_bounds__(kGroupThreads, kHead == 32 ? 5 : 4)
    hopper_attention_kernel(AttentionShape shape, FlashForward<T> views, int n_tiles) {
  constexpr int kTile = kGroupTile<kHead>;
  static_assert(kGroupRows * kTileStride<kHead> <= kTiles * kTile);  // of store_rows
  const TilePlace place(shape, n_tiles);
  // With a causal mask the last tiles have most keys: they start first.
  const int first = (n_tiles - 1 - place.tile) * kGroupRows;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(swizzled_memory());
  T* keys = queries + kTile;
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
  if (n_key_tiles > 0) copy_keys(0);
  end_copies();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const int query = first + warp_row + lane / 4;  // and eight later
  const GroupOperand<kHead> query_rows(queries);
  const float scale = fmaxf(fabsf(static_cast<float>(shape.scale)) * kLog2E, FLT_MIN);
  RunningSoftmax<kHead> softmax;
  float out[kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    const int begin = i * kGroupRows;
    wait_for_group_copies();
    __syncthreads();  // this tile has arrived, the previous one has been read
    if (i + 1 < n_key_tiles) copy_keys(i + 1);
    end_copies();
    const GroupOperand<kHead> key_rows(keys + i % 2 * kTile);
    const GroupOperand<kHead> value_rows(values + i % 2 * kTile);
    float score[8][4];
    begin_products();
    multiply_group_rows<T>(score, query_rows, key_rows);
    end_products();
    wait_for_products<0>();
    finish(score);
    if (shape.scale < 0) {
#pragma unroll
      for (int j = 0; j < 32; ++j) score[j / 4][j % 4] = -score[j / 4][j % 4];
    }
    if (shape.seen(first, limit) < begin + kGroupRows) {
      mask_keys(score, {shape.seen(query, limit) - begin, shape.seen(query + 8, limit) - begin});
    }
    softmax.update(score, out, scale);
    std::uint32_t a[4][4];
    round_group<T>(a, score);
    begin_products();
    add_group_rows<T, kHead>(out, a, value_rows);
    end_products();
    wait_for_products<0>();
    finish(out);
  }
  wait_for_copies<0>();
  __syncthreads();  // all tiles have been read

  const HeadRows<float> log_sum = views.log_sum.of(place.entry, place.head);
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = softmax.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factor[half] = sum == 0 ? 0.0f : 1 / sum;
    if (lane % 4 == 0 && query + 8 * half < shape.n_queries && log_sum.data != nullptr) {
      *log_sum[query + 8 * half] = (softmax.largest[half] * scale + log2f(sum)) * kLn2;
    }
  }
  store_rows<T, kHead>(queries + warp_row * kTileStride<kHead>, out, factor,
                       views.out.of(place.entry, place.head), first + warp_row, shape.n_queries,
                       shape);
}

template <class T>
void run(StreamView stream, const AttentionCall& call) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const FlashForward<T> views{HeadView<const T>(call.q), HeadView<const T>(call.k),
                              HeadView<const T>(call.v), HeadView<T>(call.out),
                              HeadView<float>(call.log_sum)};
  const int n_tiles = (shape.n_queries + kGroupRows - 1) / kGroupRows;
  const auto start = [&](auto head) {
    launch({"attention", stream, dim3(static_cast<unsigned>(shape.n_sequences * n_tiles)),
            dim3(kGroupThreads), kTiles * kGroupTile<head()> * sizeof(T)},
           hopper_attention_kernel<T, head()>, shape, views, n_tiles);
  };
  if (shape.head_size <= 32) return start(std::integral_constant<int, 32>());
  start(std::integral_constant<int, 64>());
}

}  // namespace

void hopper_attention(StreamView stream, const AttentionCall& call) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call);
  run<f16>(stream, call);
}

}  // namespace causeway::kernels::cuda
