// How hopper_whole.cuh divides a block and its shared memory, and its barriers. Every ring of tiles
// has a barrier `full` per place, on which copies count, and `empty`, on which readers arrive.
#pragma once

#include "causeway/kernels/attention/shape.cuh"
#include "causeway/kernels/attention/tensor_copy.cuh"
#include "causeway/kernels/attention/wgmma.cuh"

namespace causeway::kernels::cuda {

// kSlots tiles of keys and values, kStages tiles of queries and gradients, kOuts tiles of outputs
// and kSteps sets of gradients of scores fit in shared memory.
template <int kHeadOf, int kSlotsOf = 8, int kStagesOf = 3, int kOutsOf = 2, int kStepsOf = 1,
          bool kNarrowOf = true>
struct HopperWholePlan {
  static constexpr int kHead = kHeadOf;
  static constexpr int kSlots = kSlotsOf;
  static constexpr int kStages = kStagesOf;
  static constexpr int kOuts = kOutsOf;
  static constexpr int kSteps = kStepsOf;
  static constexpr bool kNarrow = kNarrowOf;  // a last tile of 16 queries is computed as such
  static constexpr int kGroups = 2;           // warpgroups that multiply
  static constexpr int kOwned = 2;            // tiles of keys of a warpgroup
  static constexpr int kPass = kGroups * kOwned;
  static constexpr int kConsumers = kGroups * kGroupThreads;
  static constexpr int kThreads = kConsumers + kGroupThreads;
  static constexpr int kConsumerWarps = kConsumers / 32;
  static constexpr int kDotWarps = 2;
  static constexpr int kHelperRegisters = 24;
  static constexpr int kConsumerRegisters = 240;
  static constexpr int kTileBytes = kGroupTile<kHead> * 2;
  static constexpr int kStepBytes = kGroupTile<64> * 2;  // of one tile of keys
  static constexpr int kTasks = 2;
  static constexpr int kReaders = kConsumerWarps + kDotWarps + 1;  // warps that read the task
  static constexpr int kBarriers = 2 * kSlots + 3 * kStages + 2 * kOuts + 2 * kSteps + 2 * kTasks;
  static constexpr int kBytes =
      (2 * kSlots + 2 * kStages + kOuts) * kTileBytes + kSteps * kPass * kStepBytes +
      kStages * 2 * kGroupRows * static_cast<int>(sizeof(float)) + kTasks * 16 + kBarriers * 8;
  static_assert(kBytes <= 227 * 1024 && kSlots >= kPass);
};

struct WholeTensors {
  CUtensorMap q, k, v, out, gradient;
};

// The parts of a block's shared memory.
template <class Plan>
struct WholeMemory {
  unsigned char* slots;   // kSlots times (keys, values)
  unsigned char* stages;  // kStages times (queries, gradients)
  unsigned char* outs;
  unsigned char* steps;      // kSteps times kPass tiles of gradients of scores: rows are keys
  float* statistics;         // kStages times (logarithms, dots)
  int4* tasks;               // the sequences to work on: entry, head, limit; a negative limit ends
  std::uint64_t* slot_full;  // of each slot; `empty` likewise
  std::uint64_t* slot_empty;
  std::uint64_t* stage_full;
  std::uint64_t* stage_empty;
  std::uint64_t* stage_known;  // the statistics have been written
  std::uint64_t* out_full;
  std::uint64_t* out_empty;
  std::uint64_t* steps_full;
  std::uint64_t* steps_empty;
  std::uint64_t* task_full;
  std::uint64_t* task_empty;

  __device__ __forceinline__ WholeMemory() {
    slots = swizzled_memory();
    stages = slots + Plan::kSlots * 2 * Plan::kTileBytes;
    outs = stages + Plan::kStages * 2 * Plan::kTileBytes;
    steps = outs + Plan::kOuts * Plan::kTileBytes;
    statistics = reinterpret_cast<float*>(steps + Plan::kSteps * Plan::kPass * Plan::kStepBytes);
    tasks = reinterpret_cast<int4*>(statistics + Plan::kStages * 2 * kGroupRows);
    slot_full = reinterpret_cast<std::uint64_t*>(tasks + Plan::kTasks);
    slot_empty = slot_full + Plan::kSlots;
    stage_full = slot_empty + Plan::kSlots;
    stage_empty = stage_full + Plan::kStages;
    stage_known = stage_empty + Plan::kStages;
    out_full = stage_known + Plan::kStages;
    out_empty = out_full + Plan::kOuts;
    steps_full = out_empty + Plan::kOuts;
    steps_empty = steps_full + Plan::kSteps;
    task_full = steps_empty + Plan::kSteps;
    task_empty = task_full + Plan::kTasks;
  }
  __device__ __forceinline__ unsigned char* keys(int slot) const {
    return slots + slot * 2 * Plan::kTileBytes;
  }
  __device__ __forceinline__ unsigned char* values(int slot) const {
    return keys(slot) + Plan::kTileBytes;
  }
  __device__ __forceinline__ unsigned char* queries(int stage) const {
    return stages + stage * 2 * Plan::kTileBytes;
  }
  __device__ __forceinline__ unsigned char* gradients(int stage) const {
    return queries(stage) + Plan::kTileBytes;
  }
  __device__ __forceinline__ float* logarithms(int stage) const {
    return statistics + stage * 2 * kGroupRows;
  }
  __device__ __forceinline__ unsigned char* steps_of(int buffer, int tile) const {
    return steps + (buffer * Plan::kPass + tile) * Plan::kStepBytes;
  }
  // By one thread.
  __device__ __forceinline__ void init_barriers() const {
    for (int i = 0; i < Plan::kSlots; ++i) init_barrier(slot_full + i, 1);
    for (int i = 0; i < Plan::kSlots; ++i) init_barrier(slot_empty + i, Plan::kConsumerWarps);
    for (int i = 0; i < Plan::kStages; ++i) {
      init_barrier(stage_full + i, 1);
      init_barrier(stage_empty + i, Plan::kConsumerWarps);
      init_barrier(stage_known + i, Plan::kDotWarps);
    }
    for (int i = 0; i < Plan::kOuts; ++i) {
      init_barrier(out_full + i, 1);
      init_barrier(out_empty + i, Plan::kDotWarps);
    }
    for (int i = 0; i < Plan::kSteps; ++i) {
      init_barrier(steps_full + i, Plan::kConsumerWarps);
      init_barrier(steps_empty + i, kGroupThreads / 32);
    }
    for (int i = 0; i < Plan::kTasks; ++i) {
      init_barrier(task_full + i, 1);
      init_barrier(task_empty + i, Plan::kReaders);
    }
    publish_barriers();
  }
};

// A position in a ring of kSize places, and the parity of the phase of that place's barriers.
template <int kSize>
struct RingPlace {
  int index = 0;
  int parity = 0;

  __device__ __forceinline__ void advance() {
    if (++index < kSize) return;
    index = 0;
    parity ^= 1;
  }
};

// Calls body(entry, head, limit) for the sequences that load_whole announces; a warp.
template <class Plan, class Body>
__device__ __forceinline__ void each_sequence(const WholeMemory<Plan>& memory, const Body& body) {
  RingPlace<Plan::kTasks> place;
  while (true) {
    wait_for(memory.task_full + place.index, place.parity);
    const int4 task = memory.tasks[place.index];
    // Known to the compiler to be the same in all lanes: it serialises products in divergent code.
    const int entry = __shfl_sync(0xffffffffu, task.x, 0);
    const int head = __shfl_sync(0xffffffffu, task.y, 0);
    const int limit = __shfl_sync(0xffffffffu, task.z, 0);
    if (threadIdx.x % 32 == 0) arrive(memory.task_empty + place.index);
    place.advance();
    if (limit < 0) return;
    body(entry, head, limit);
  }
}

__device__ __forceinline__ int group_tiles(int n_rows) {
  return (n_rows + kGroupRows - 1) / kGroupRows;
}

// Calls body(first tile of keys, number of tiles, is the first pass, is the last).
template <int kPass, class Body>
__device__ __forceinline__ void each_pass(int limit, const Body& body) {
  const int n_tiles = group_tiles(limit);
  const int n_passes = (n_tiles + kPass - 1) / kPass;
  const int n_most = n_passes == 0 ? 1 : (n_tiles + n_passes - 1) / n_passes;
  for (int first = 0; first < n_tiles; first += n_most) {
    const int n = min(n_most, n_tiles - first);
    body(first, n, first == 0, first + n == n_tiles);
  }
}

}  // namespace causeway::kernels::cuda
