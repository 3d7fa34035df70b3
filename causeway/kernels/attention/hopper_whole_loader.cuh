// The third warpgroup of hopper_whole.cuh: its warps load tiles, compute the statistics of queries
// and store zeros.
#pragma once

#include "causeway/kernels/attention/flash_gradient.cuh"
#include "causeway/kernels/attention/hopper_whole_memory.cuh"

namespace causeway::kernels::cuda {

// Loads the tiles of a block in the order of their use; one thread.
template <class Plan>
struct WholeLoader {
  const WholeMemory<Plan>& memory;
  const AttentionShape& shape;
  const WholeTensors& tensors;
  RingPlace<Plan::kSlots> slot;
  RingPlace<Plan::kStages> stage;
  RingPlace<Plan::kOuts> out;
  RingPlace<Plan::kTasks> task;

  __device__ __forceinline__ void announce(int entry, int head, int limit) {
    wait_for(memory.task_empty + task.index, task.parity ^ 1);
    memory.tasks[task.index] = int4{entry, head, limit, 0};
    arrive(memory.task_full + task.index);
    task.advance();
  }
  __device__ __forceinline__ void load_keys(int entry, int head, int row) {
    std::uint64_t* full = memory.slot_full + slot.index;
    wait_for(memory.slot_empty + slot.index, slot.parity ^ 1);
    arrive_expecting(full, 2 * Plan::kTileBytes);
    load_box(memory.keys(slot.index), tensors.k, full, 0, row, head, entry);
    load_box(memory.values(slot.index), tensors.v, full, 0, row, head, entry);
    slot.advance();
  }
  __device__ __forceinline__ void load_queries(int entry, int head, int row) {
    std::uint64_t* full = memory.stage_full + stage.index;
    wait_for(memory.stage_empty + stage.index, stage.parity ^ 1);
    arrive_expecting(full, 2 * Plan::kTileBytes);
    load_box(memory.queries(stage.index), tensors.q, full, 0, row, head, entry);
    load_box(memory.gradients(stage.index), tensors.gradient, full, 0, row, head, entry);
    stage.advance();
    full = memory.out_full + out.index;
    wait_for(memory.out_empty + out.index, out.parity ^ 1);
    arrive_expecting(full, Plan::kTileBytes);
    load_box(memory.outs + out.index * Plan::kTileBytes, tensors.out, full, 0, row, head, entry);
    out.advance();
  }
  // Block b takes the sequences b, b + gridDim.x, ...: blocks that ask for the next one when they
  // are ready take 4% longer. The next limit is read a sequence before it is needed.
  __device__ __forceinline__ void run() {
    const auto n_sequences = static_cast<unsigned>(shape.n_sequences);
    const auto n_heads = static_cast<unsigned>(shape.n_heads);
    int limit = shape.limit(blockIdx.x / n_heads);
    for (unsigned sequence = blockIdx.x; sequence < n_sequences; sequence += gridDim.x) {
      const unsigned next = sequence + gridDim.x;
      const int next_limit = next < n_sequences ? shape.limit(next / n_heads) : 0;
      const int entry = static_cast<int>(sequence / n_heads);
      const int head = static_cast<int>(sequence % n_heads);
      announce(entry, head, limit);
      each_pass<Plan::kPass>(limit, [&](int first, int n_tiles, bool, bool) {
        for (int c = 0; c < n_tiles; ++c) load_keys(entry, head, (first + c) * kGroupRows);
        for (int row = 0; row < shape.n_queries; row += kGroupRows) load_queries(entry, head, row);
      });
      limit = next_limit;
    }
    announce(0, 0, -1);
  }
};

// Writes zeros to the gradients of keys in tiles past the limit, and to those of queries without
// keys; one warp.
template <class T, class Plan>
__device__ __forceinline__ void store_zeros(const WholeMemory<Plan>& memory,
                                            const AttentionShape& shape,
                                            const GradientViews<T>& views) {
  const int lane = threadIdx.x % 32;
  const auto clear = [&](const HeadRows<T>& rows, int first, int n_rows) {
    const int column = lane % 8 * 8;
    if (column >= shape.head_size) return;
    for (int row = first + lane / 8; row < n_rows; row += 4) {
      __stwb(reinterpret_cast<uint4*>(rows[row] + column), uint4{0, 0, 0, 0});
    }
  };
  each_sequence(memory, [&](int entry, int head, int limit) {
    const int first = group_tiles(limit) * kGroupRows;
    clear(views.k_gradient.of(entry, head), first, shape.n_keys);
    clear(views.v_gradient.of(entry, head), first, shape.n_keys);
    if (limit == 0) clear(views.q_gradient.of(entry, head), 0, shape.n_queries);
  });
}

// sum += the dot product of eight features each.
template <class T>
__device__ __forceinline__ void add_dot(float& sum, const uint4& a, const uint4& b) {
  const std::uint32_t left[] = {a.x, a.y, a.z, a.w};
  const std::uint32_t right[] = {b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 x = unpack<T>(left[i]);
    const float2 y = unpack<T>(right[i]);
    sum += x.x * y.x;
    sum += x.y * y.y;
  }
}

// Computes the statistics of each tile of queries: the logarithm of the sum of exponentials, and
// gradient · out. Warp `part` of kDotWarps.
template <class T, class Plan>
__device__ __forceinline__ void find_statistics(const WholeMemory<Plan>& memory,
                                                const AttentionShape& shape,
                                                const GradientViews<T>& views, int part) {
  constexpr int kHead = Plan::kHead;
  static_assert(kGroupRows / Plan::kDotWarps == 32);
  const int lane = threadIdx.x % 32;
  const int row = part * 32 + lane;  // of the tile
  RingPlace<Plan::kStages> stage;
  RingPlace<Plan::kOuts> out;
  each_sequence(memory, [&](int entry, int head, int limit) {
    const HeadRows<const float> log_sum = views.log_sum.of(entry, head);
    each_pass<Plan::kPass>(limit, [&](int, int, bool, bool) {
      for (int begin = 0; begin < shape.n_queries; begin += kGroupRows) {
        const float logarithm = query_logarithm(log_sum, begin + row, shape.n_queries);
        float* logarithms = memory.logarithms(stage.index);
        wait_for(memory.stage_full + stage.index, stage.parity);
        wait_for(memory.out_full + out.index, out.parity);
        const T* gradients = reinterpret_cast<const T*>(memory.gradients(stage.index));
        const T* outs = reinterpret_cast<const T*>(memory.outs + out.index * Plan::kTileBytes);
        float dot = 0;
#pragma unroll
        for (int i = 0; i < kHead / 8; ++i) {
          const int at = swizzled<kHead>(row, 8 * i);
          add_dot<T>(dot, *reinterpret_cast<const uint4*>(gradients + at),
                     *reinterpret_cast<const uint4*>(outs + at));
        }
        logarithms[row] = logarithm;
        logarithms[kGroupRows + row] = dot;
        __syncwarp();
        if (lane == 0) {
          arrive(memory.stage_known + stage.index);
          arrive(memory.out_empty + out.index);
        }
        stage.advance();
        out.advance();
      }
    });
  });
}

}  // namespace causeway::kernels::cuda
