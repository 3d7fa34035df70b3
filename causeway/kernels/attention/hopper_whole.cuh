// The gradients of a sequence in one block on Hopper: each input is read once, and the scores are
// computed once. Persistent blocks; two warpgroups own up to two tiles of 64 keys each, whose
// gradients they sum in registers while tiles of 64 queries stream past; the gradients of the
// scores go through shared memory to the sums over keys. A third warpgroup loads tiles (also the
// next sequence's) with the copy engine and computes the dot products of rows.
//
// Tile c of the keys belongs to warpgroup c % 2. The gradient of a tile of queries is computed by
// the warpgroup that has fewer keys, or in turn. More than four tiles of keys take several passes
// over the queries, whose gradients are passed on in f32 (`partial`).
//
// Bytes: five inputs and three results once, keys and values only up to the limit. Operations: 10
// per query, key and feature. 272 rows with limits of 172 on average on an H200: 296 us for 870 x 3
// heads of 64, 265 TFLOP/s and half of the memory bandwidth. The two kernels of hopper_gradient.cu
// take 595 us.
#pragma once

#include "causeway/kernels/attention/hopper_whole_loader.cuh"

namespace causeway::kernels::cuda {

// Exchanges words between the four lanes of a quad: word i of lane t becomes word t of lane i.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&words)[4]) {
  const int lane = threadIdx.x % 32;
  const auto exchange = [&](std::uint32_t& low, std::uint32_t& high, int apart) {
    const bool upper = (lane & apart) != 0;
    const std::uint32_t got =
        __shfl_xor_sync(0xffffffffu, upper ? low : high, static_cast<unsigned>(apart));
    (upper ? low : high) = got;
  };
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

// Writes a warp's sixteen rows of sums times `factor` from `first` on; those from n_valid on are
// zeros. A lane writes eight adjacent features, a quad 64 bytes.
template <class T, int kHead>
__device__ __forceinline__ void store_group(const float (&sums)[kHead / 8][4], float factor,
                                            const HeadRows<T>& rows, int first, int n_rows,
                                            int n_valid, int head_size) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + lane / 4 + 8 * half;
#pragma unroll
    for (int part = 0; part < kHead / 32; ++part) {
      std::uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &sums[4 * part + i][2 * half];
        words[i] = row < n_valid ? pack<T>(pair[0] * factor, pair[1] * factor) : 0;
      }
      transpose_quad(words);
      const int column = 32 * part + lane % 4 * 8;
      if (row < n_rows && column < head_size) {
        __stwb(reinterpret_cast<uint4*>(rows[row] + column),
               uint4{words[0], words[1], words[2], words[3]});
      }
    }
  }
}

// Stores four 8x8 matrices, as load_matrices loads them.
__device__ __forceinline__ void store_matrices(void* row, const std::uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row)), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

// What a warpgroup sums for one of its tiles of keys.
template <int kHead>
struct KeySums {
  float k[kHead / 8][4];
  float v[kHead / 8][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < kHead / 2; ++j) {
      k[j / 4][j % 4] = 0;
      v[j / 4][j % 4] = 0;
    }
  }
};

// One tile of keys and one of queries, for a warpgroup.
template <class T, class Plan>
struct WholeStep {
  static constexpr int kHead = Plan::kHead;
  const WholeMemory<Plan>& memory;
  float scale;  // for powers of 2
  int slot;
  int stage;
  T* steps;     // receives the gradients of the scores
  int n_valid;  // keys of the tile
  std::uint64_t* steps_empty;
  std::uint64_t* steps_full;
  int parity;    // of steps_empty
  bool is_last;  // of the warpgroup's tiles of keys

  // Adds the first kQueries queries of the tile.
  template <int kQueries>
  __device__ __forceinline__ void add(KeySums<kHead>& sums) const {
    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x % kGroupThreads / 32 * 16;
    // The descriptors are made anew for each tile: the compiler would otherwise keep all of them in
    // registers and spill others.
    int key_slot = slot;
    asm volatile("" : "+r"(key_slot));
    const GroupOperand<kHead> key_rows(memory.keys(key_slot));
    const GroupOperand<kHead> value_rows(memory.values(key_slot));
    const GroupOperand<kHead> query_rows(memory.queries(stage));
    const GroupOperand<kHead> gradient_rows(memory.gradients(stage));
    const float* logarithm = memory.logarithms(stage) + 2 * (lane % 4);
    const float* dot = logarithm + kGroupRows;
    float score[kQueries / 8][4];
    float slope[kQueries / 8][4];
    begin_products();
    multiply_group_rows<T>(score, key_rows, query_rows);
    end_products();
    multiply_group_rows<T>(slope, value_rows, gradient_rows);
    end_products();
    wait_for_products<1>();
    finish(score);
#pragma unroll
    for (int j = 0; j < kQueries / 2; ++j) {
      float& value = score[j / 4][j % 4];
      value = power_of_2(value * scale - logarithm[8 * (j / 4) + j % 2]);
    }
    if (n_valid < kGroupRows) {
#pragma unroll
      for (int j = 0; j < kQueries / 2; ++j) {
        if (warp_row + lane / 4 + 8 * (j / 2 % 2) >= n_valid) score[j / 4][j % 4] = 0;
      }
    }
    std::uint32_t a[kQueries / 16][4];
    round_group<T>(a, score);
    wait_for_products<0>();
    finish(slope);
    begin_products();
    add_group_rows<T, kHead>(sums.v, a, gradient_rows);
    end_products();
#pragma unroll
    for (int j = 0; j < kQueries / 2; ++j) {
      slope[j / 4][j % 4] = (slope[j / 4][j % 4] - dot[8 * (j / 4) + j % 2]) * score[j / 4][j % 4];
    }
    std::uint32_t b[kQueries / 16][4];
    round_group<T>(b, slope);
    begin_products();
    add_group_rows<T, kHead>(sums.k, b, query_rows);
    end_products();
    wait_for(steps_empty, parity);
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i) {  // b[i]: keys + 0, + 8, queries + 0, + 8
      store_matrices(steps + swizzled<64>(warp_row + lane % 16, 16 * i + lane / 16 * 8), b[i]);
    }
    publish_shared();
    __syncwarp();
    if (is_last && lane == 0) arrive(steps_full);
    wait_for_products<0>();
    finish(sums.v);
    finish(sums.k);
  }
};

// Zeros the rows of a tile of keys and values from n_valid on; a warpgroup.
template <class Plan>
__device__ __forceinline__ void clear_rows(const WholeMemory<Plan>& memory, int slot, int n_valid) {
  constexpr int kRowPieces = Plan::kTileBytes / kGroupRows / 16;
  auto* keys = reinterpret_cast<uint4*>(memory.keys(slot));
  auto* values = reinterpret_cast<uint4*>(memory.values(slot));
  for (int i = n_valid * kRowPieces + static_cast<int>(threadIdx.x) % kGroupThreads;
       i < kGroupRows * kRowPieces; i += kGroupThreads) {
    keys[i] = uint4{0, 0, 0, 0};
    values[i] = uint4{0, 0, 0, 0};
  }
  publish_shared();
  if (threadIdx.x < kGroupThreads) {  // a barrier for each warpgroup
    asm volatile("bar.sync 1, %0;" : : "n"(kGroupThreads) : "memory");
  } else {
    asm volatile("bar.sync 2, %0;" : : "n"(kGroupThreads) : "memory");
  }
}

// The gradients of the queries of the tile from `first` on, from kPass tiles of steps; a
// warpgroup. `partial` are the sums of the previous passes.
template <class T, class Plan>
struct QuerySums {
  static constexpr int kHead = Plan::kHead;
  float sums[kHead / 8][4];

  __device__ __forceinline__ void start(const float4* partial, bool is_first) {
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) {
      const float4 before =
          is_first ? float4{0, 0, 0, 0} : partial[j * kGroupThreads + threadIdx.x % kGroupThreads];
      sums[j][0] = before.x;
      sums[j][1] = before.y;
      sums[j][2] = before.z;
      sums[j][3] = before.w;
    }
  }
  __device__ __forceinline__ void add(const WholeMemory<Plan>& memory, int buffer, int first_slot,
                                      int n_tiles) {
    begin_products();
    for (int c = 0; c < n_tiles; ++c) {
      const int slot =
          first_slot + c < Plan::kSlots ? first_slot + c : first_slot + c - Plan::kSlots;
      const GroupOperand<64> steps(memory.steps_of(buffer, c));
      const GroupOperand<kHead> keys(memory.keys(slot));
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        add_group_columns<T>(sums, steps.columns(step), keys.columns(step));
      }
    }
    end_products();
    wait_for_products<0>();
    finish(sums);
  }
  __device__ __forceinline__ void save(float4* partial) const {
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) {
      __stwb(partial + j * kGroupThreads + threadIdx.x % kGroupThreads,
             float4{sums[j][0], sums[j][1], sums[j][2], sums[j][3]});
    }
  }
};

// Multiplies; warpgroup `group`.
template <class T, class Plan>
__device__ __forceinline__ void multiply_whole(const WholeMemory<Plan>& memory,
                                               const AttentionShape& shape,
                                               const GradientViews<T>& views, float4* partials,
                                               int group) {
  constexpr int kHead = Plan::kHead;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x % kGroupThreads / 32 * 16;
  const int n_query_tiles = group_tiles(shape.n_queries);
  const auto factor = static_cast<float>(shape.scale);
  const float scale = factor * kLog2E;
  RingPlace<Plan::kSlots> slot;  // of the first tile of keys of the pass
  RingPlace<Plan::kStages> stage;
  RingPlace<Plan::kSteps> buffer;
  each_sequence(memory, [&](int entry, int head, int limit) {
    each_pass<Plan::kPass>(limit, [&](int first_tile, int n_tiles, bool is_first, bool is_last) {
      const int n_owned = (n_tiles - group + 1) / 2;
      const auto slot_of = [&](int tile) {
        RingPlace<Plan::kSlots> place = slot;
        place.index += tile;
        if (place.index >= Plan::kSlots) {
          place.index -= Plan::kSlots;
          place.parity ^= 1;
        }
        return place;
      };
      const auto n_valid = [&](int tile) {
        return min(limit - (first_tile + tile) * kGroupRows, kGroupRows);
      };
      KeySums<kHead> sums[Plan::kOwned];
#pragma unroll
      for (int o = 0; o < Plan::kOwned; ++o) {
        sums[o].clear();
        const int tile = 2 * o + group;
        if (tile >= n_tiles) continue;
        wait_for(memory.slot_full + slot_of(tile).index, slot_of(tile).parity);
        if (n_valid(tile) < kGroupRows) clear_rows(memory, slot_of(tile).index, n_valid(tile));
      }
      for (int i = 0; i < n_query_tiles; ++i) {
        wait_for(memory.stage_full + stage.index, stage.parity);
        wait_for(memory.stage_known + stage.index, stage.parity);
        const auto add_tiles = [&](auto queries) {
#pragma unroll
          for (int o = 0; o < Plan::kOwned; ++o) {
            const int tile = 2 * o + group;
            if (tile >= n_tiles) continue;
            const WholeStep<T, Plan> step{memory,
                                          scale,
                                          slot_of(tile).index,
                                          stage.index,
                                          reinterpret_cast<T*>(memory.steps_of(buffer.index, tile)),
                                          n_valid(tile),
                                          memory.steps_empty + buffer.index,
                                          memory.steps_full + buffer.index,
                                          buffer.parity ^ 1,
                                          o + 1 == n_owned};
            step.template add<queries()>(sums[o]);
          }
        };
        if (Plan::kNarrow && shape.n_queries - i * kGroupRows <= 16) {
          add_tiles(std::integral_constant<int, 16>());
        } else {
          add_tiles(std::integral_constant<int, kGroupRows>());
        }
        if (lane == 0) arrive(memory.stage_empty + stage.index);
        if (n_owned == 0) {  // not before the previous phase has ended
          wait_for(memory.steps_empty + buffer.index, buffer.parity ^ 1);
          if (lane == 0) arrive(memory.steps_full + buffer.index);
        }
        stage.advance();
        const bool is_single = is_first && is_last;
        if (group == (n_tiles % 2 == 1 || !is_single ? 1 : i % 2)) {
          float4* partial = partials + (static_cast<std::int64_t>(blockIdx.x) * n_query_tiles + i) *
                                           (kHead / 8 * kGroupThreads);
          for (int c = 0; i < 2 && c < n_tiles; ++c) {  // the copies are visible to this thread too
            wait_for(memory.slot_full + slot_of(c).index, slot_of(c).parity);
          }
          wait_for(memory.steps_full + buffer.index, buffer.parity);
          QuerySums<T, Plan> query_sums;
          query_sums.start(partial, is_first);
          query_sums.add(memory, buffer.index, slot.index, n_tiles);
          __syncwarp();
          if (lane == 0) arrive(memory.steps_empty + buffer.index);
          if (is_last) {
            store_group<T, kHead>(query_sums.sums, factor, views.q_gradient.of(entry, head),
                                  i * kGroupRows + warp_row, shape.n_queries, shape.n_queries,
                                  shape.head_size);
          } else {
            query_sums.save(partial);
          }
        }
        buffer.advance();
      }
      __syncwarp();
      for (int c = 0; c < n_tiles; ++c, slot.advance()) {
        if (lane == 0) arrive(memory.slot_empty + slot.index);
      }
#pragma unroll
      for (int o = 0; o < Plan::kOwned; ++o) {
        const int tile = 2 * o + group;
        if (tile >= n_tiles) continue;
        const int row = (first_tile + tile) * kGroupRows + warp_row;
        store_group<T, kHead>(sums[o].v, 1, views.v_gradient.of(entry, head), row, shape.n_keys,
                              limit, shape.head_size);
        store_group<T, kHead>(sums[o].k, factor, views.k_gradient.of(entry, head), row,
                              shape.n_keys, limit, shape.head_size);
      }
    });
  });
}

template <class T, class Plan>
__global__ void __launch_bounds__(Plan::kThreads, 1)
    hopper_whole_gradient_kernel(const __grid_constant__ WholeTensors tensors,
                                 const __grid_constant__ AttentionShape shape,
                                 const __grid_constant__ GradientViews<T> views, float4* partials) {
  const WholeMemory<Plan> memory;
  if (threadIdx.x == 0) memory.init_barriers();
  __syncthreads();
  // Known to the compiler to be the same in all lanes: it serialises products in divergent code.
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp >= Plan::kConsumerWarps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(Plan::kHelperRegisters));
    const int role = warp - Plan::kConsumerWarps;
    if (role == 0) {
      if (threadIdx.x % 32 == 0) WholeLoader<Plan>{memory, shape, tensors}.run();
    } else if (role == 1) {
      store_zeros<T>(memory, shape, views);
    } else {
      find_statistics<T>(memory, shape, views, role - 2);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(Plan::kConsumerRegisters));
    multiply_whole<T>(memory, shape, views, partials, warp / 4);
  }
}

}  // namespace causeway::kernels::cuda
