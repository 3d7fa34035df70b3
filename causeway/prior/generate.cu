// Dataset generation on the GPU. Each thread block takes the next dataset from a shared counter
// until none is left, and retries rejected attempts itself, without the host. Bound by load
// latency: ncu on an H200 shows about two of four possible instructions per cycle and an eighth of
// the memory bandwidth. Compiled without FMA contraction, so that results match the CPU bit for
// bit.
#include "causeway/prior/block.cuh"
#include "causeway/prior/generate.h"

#include "causeway/runtime/driver.h"
#include "causeway/runtime/launch.h"
#include "causeway/runtime/pool.h"

#include <algorithm>

namespace causeway::prior::cuda {

namespace {

constexpr int kCosts = 256;  // cost classes, eight per factor of two
constexpr std::int64_t kMostOrdered = 1 << 20;
constexpr int kPlanners = 128;  // threads per block that draws plans

// Estimates the cost class of each dataset, 0 the most expensive. `plans` holds one plan per
// thread.
__global__ void __launch_bounds__(kPlanners)
    cost_kernel(Recipe recipe, std::uint64_t seed, BatchOut out, GraphPlan* plans,
                std::int32_t* costs) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t k = thread; k < out.count; k += std::int64_t{gridDim.x} * blockDim.x) {
    const Draws draws = Draws::of(seed, out.index_of(k));
    const DatasetShape shape = shape_of(recipe, draws);
    Workspace<PlanTeam> w{PlanTeam{}, draws, {}, shape.n_rows, shape.n_rows, shape.n_rows};
    float cost = static_cast<float>(shape.n_rows);
    if (shape.family == Family::graph) {
      draw_plan(w, recipe.graph, shape.n_features, shape.n_classes, plans[thread]);
      cost *= 1.0f + cost_of(plans[thread]);
    }
    constexpr std::uint32_t kLeast = 0x43800000u >> 20;  // 256
    const std::uint32_t step = elementary::bits_of(cost < 256.0f ? 256.0f : cost) >> 20;
    costs[k] = step - kLeast < kCosts ? static_cast<int>(kCosts - 1 - (step - kLeast)) : 0;
  }
}

// Sorts datasets by decreasing cost: some take tens of times as long as most, and a block should
// not start one of them last. The order does not change the datasets.
__global__ void __launch_bounds__(1024)
    order_kernel(const std::int32_t* costs, std::int64_t count, std::int32_t* order) {
  __shared__ int places[kCosts];
  for (int i = threadIdx.x; i < kCosts; i += blockDim.x) places[i] = 0;
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x) atomicAdd(places + costs[k], 1);
  __syncthreads();
  if (threadIdx.x < kLanes) WarpLanes{static_cast<int>(threadIdx.x)}.exclusive_sum(places, kCosts);
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x)
    order[atomicAdd(places + costs[k], 1)] = static_cast<std::int32_t>(k);
}

// Processes datasets in the given order; nullptr means ascending.
__global__ void __launch_bounds__(kThreads, 2)
    generate_kernel(Recipe recipe, std::uint64_t seed, BatchOut out, float* arenas,
                    unsigned long long* next, const std::int32_t* order) {
  __shared__ Shared shared;
  __shared__ unsigned long long bits;
  __shared__ unsigned long long taken;
  const Block team{&bits};
  float* arena = arenas + blockIdx.x * recipe.arena_floats;
  if (threadIdx.x == 0) shared.spreads = nullptr;
  while (true) {
    if (threadIdx.x == 0) taken = atomicAdd(next, 1ull);
    team.sync();
    const auto ticket = static_cast<std::int64_t>(taken);
    team.sync();
    if (ticket >= out.count) return;
    const std::int64_t k = order != nullptr ? order[ticket] : ticket;
    const DatasetOut to = out.of(k);
    const DatasetInfo info =
        make_dataset(team, recipe, seed, out.index_of(k), 0, OtherWorld{}, shared, arena, to);
    if (threadIdx.x == 0) out.info[k] = info;
    if (out.offsets != nullptr) continue;
    const int unused = (out.rows - info.n_rows) * out.features;
    float* beyond = to.x + static_cast<std::int64_t>(info.n_rows) * out.features;
    for (int i = threadIdx.x; i < unused; i += kThreads) beyond[i] = 0.0f;
    for (int i = info.n_rows + static_cast<int>(threadIdx.x); i < out.rows; i += kThreads)
      to.y[i] = 0.0f;
  }
}

constexpr int kFew = 4;                  // features of the kernel below
constexpr int kPerWarp = kLanes / kFew;  // datasets whose terms a warp draws at once

// Datasets of the simple family with four features. A warp draws the terms of eight datasets, one
// per lane, then generates them one after the other, one lane per row. Writes every row once; at 64
// rows bound by arithmetic (Philox and four functions per row).
__global__ void __launch_bounds__(kThreads) simple_kernel(std::uint64_t seed, BatchOut out) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const std::int64_t first =
      (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kLanes * kPerWarp;
  if (first >= out.count) return;
  const Draws own = Draws::of(seed, out.index_of(first + lane / kFew));
  const SimpleTerm own_term = simple_term(own, lane % kFew);
  const int here = out.count - first < kPerWarp ? static_cast<int>(out.count - first) : kPerWarp;
  for (int d = 0; d < here; ++d) {
    const Draws draws{__shfl_sync(0xffffffffu, own.key0, d * kFew),
                      __shfl_sync(0xffffffffu, own.key1, d * kFew), 0};
    SimpleTerm terms[kFew];
#pragma unroll
    for (int f = 0; f < kFew; ++f) {
      const int from = d * kFew + f;
      terms[f].weight = __shfl_sync(0xffffffffu, own_term.weight, from);
      terms[f].scale = __shfl_sync(0xffffffffu, own_term.scale, from);
      terms[f].shift = __shfl_sync(0xffffffffu, own_term.shift, from);
      const int kind = __shfl_sync(0xffffffffu, static_cast<int>(own_term.kind), from);
      terms[f].kind = static_cast<Term>(kind);
    }
    float4* x = reinterpret_cast<float4*>(out.x) + (first + d) * out.rows;
    float* y = out.y + (first + d) * out.rows;
    for (int row = lane; row < out.rows; row += kLanes) {
      float values[kFew];
      simple_features(draws, row, 0, values);
      float sum = 0.0f;
#pragma unroll
      for (int f = 0; f < kFew; ++f) sum = add_term(terms[f], values[f], sum);
      x[row] = make_float4(values[0], values[1], values[2], values[3]);
      y[row] = sum;
    }
  }
}

int attribute(int device, cudaDeviceAttr name) {
  int value = 0;
  driver::check(cudaDeviceGetAttribute(&value, name, device), "prior");
  return value;
}

// Number of concurrent blocks, limited so that their arenas take at most a quarter of the device's
// memory or of its pool's limit. The kernel needs L1 cache, so it requests only 32 KiB (two blocks)
// as shared memory.
std::int64_t blocks_at_once(int device, const Recipe& recipe) {
  constexpr int kShared = 32 * 1024;
  const int most_shared = attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  driver::check(
      cudaFuncSetAttribute(generate_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                           100 * kShared / most_shared),
      "prior");
  int per_processor = 0;
  driver::check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, generate_kernel, kThreads, 0),
      "prior");
  const int processors = attribute(device, cudaDevAttrMultiProcessorCount);
  std::size_t free = 0;
  std::size_t total = 0;
  driver::check(cudaMemGetInfo(&free, &total), "prior");
  const auto arena_bytes = static_cast<std::size_t>(recipe.arena_floats) * sizeof(float);
  if (const std::size_t limit = pool_of(Device::cuda(device)).stats().limit; limit > 0) {
    total = std::min(total, limit);
  }
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, total / 4 / arena_bytes));
  return std::min<std::int64_t>(std::int64_t{per_processor} * processors, most);
}

}  // namespace

std::size_t scratch_bytes(StreamView stream, const Recipe& recipe, std::int64_t count) {
  const driver::DeviceScope scope(stream.device().index);
  const std::int64_t blocks = std::min(count, blocks_at_once(stream.device().index, recipe));
  return static_cast<std::size_t>(blocks * recipe.arena_floats) * sizeof(float);
}

void generate_simple(StreamView stream, std::uint64_t seed, const BatchOut& out) {
  if (out.count == 0) return;
  constexpr std::int64_t kPerBlock = kThreads / kLanes * kPerWarp;
  const auto blocks = static_cast<unsigned>((out.count + kPerBlock - 1) / kPerBlock);
  launch({"prior_simple", stream, dim3(blocks), dim3(kThreads)}, simple_kernel, seed, out);
}

void generate(StreamView stream, const Recipe& recipe, std::uint64_t seed, const BatchOut& out) {
  if (out.count == 0) return;
  const driver::DeviceScope scope(stream.device().index);
  const std::int64_t blocks = std::min(out.count, blocks_at_once(stream.device().index, recipe));
  auto& pool = pool_of(stream.device());
  const MemoryScope name("prior");
  const Buffer arenas =
      pool.allocate(static_cast<std::size_t>(blocks * recipe.arena_floats) * sizeof(float), stream);
  const Buffer next = pool.allocate(sizeof(unsigned long long), stream);
  driver::fill_async(stream.device().index, next.data(), 0, sizeof(unsigned long long),
                     stream.handle());
  Buffer order;
  const bool varied = recipe.family == Family::graph || recipe.family == Family::mix;
  const auto room = static_cast<std::int64_t>(arenas.size() / (kPlanners * sizeof(GraphPlan)));
  if (varied && out.count > blocks && out.count <= kMostOrdered && room > 0) {
    order = pool.allocate(2 * static_cast<std::size_t>(out.count) * sizeof(std::int32_t), stream);
    auto* first = reinterpret_cast<std::int32_t*>(order.data());
    const std::int64_t planners = std::min(room, (out.count + kPlanners - 1) / kPlanners);
    launch({"prior_cost", stream, dim3(static_cast<unsigned>(planners)), dim3(kPlanners)},
           cost_kernel, recipe, seed, out, reinterpret_cast<GraphPlan*>(arenas.data()),
           first + out.count);
    launch({"prior_order", stream, dim3(1), dim3(1024)}, order_kernel, first + out.count, out.count,
           first);
  }
  launch({"prior", stream, dim3(static_cast<unsigned>(blocks)), dim3(kThreads)}, generate_kernel,
         recipe, seed, out, reinterpret_cast<float*>(arenas.data()),
         reinterpret_cast<unsigned long long*>(next.data()),
         reinterpret_cast<const std::int32_t*>(order.data()));
}

}  // namespace causeway::prior::cuda
