// Optimizer steps on the GPU: hundreds of tensors per launch. Their addresses are kernel arguments,
// so that nothing is uploaded and the call can be captured in a graph. Bytes of AdamW in f32:
// parameter, gradient and two states read, all except the gradient written: 28 per element; bound
// by memory: 124M elements in 148 tensors reach 85% of an H200's peak.
#include "causeway/kernels/optimizer/optimizer.h"

#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/reduce/reduce.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/optimizer/visit_optimizer.h"

#include <algorithm>
#include <memory>

namespace causeway::kernels::cuda {

namespace {

constexpr int kBlock = 256;
constexpr int kMostTensors = 480;  // limited by 32 KB of kernel arguments
constexpr int kHints = 128;
constexpr std::int64_t kNormChunk = 32768;

// A block processes `chunk` elements of one tensor; the blocks of a tensor are consecutive.
struct Entry {
  void* parameter;
  const void* gradient;
  void* state[kOptimizerStates];
  void* master;
  const float* missed;
  std::uint32_t first_block;
  std::uint32_t count;
};

struct Batch {
  Entry entry[kMostTensors];
  std::uint16_t hint[kHints];  // the tensor of every 2^hint_shift-th block
  std::uint32_t hint_shift;
  std::uint32_t n_entries;
  std::uint32_t n_blocks;
};

// The tensor of this block; the search starts from a hint and is uniform over the threads.
__device__ __forceinline__ const Entry& find_entry(const Batch& batch) {
  std::uint32_t i = batch.hint[blockIdx.x >> batch.hint_shift];
  while (i + 1 < batch.n_entries && batch.entry[i + 1].first_block <= blockIdx.x) ++i;
  return batch.entry[i];
}

void set_hints(Batch& batch) {
  batch.hint_shift = 0;
  while ((batch.n_blocks >> batch.hint_shift) >= kHints) ++batch.hint_shift;
  std::uint32_t i = 0;
  for (std::uint32_t slot = 0; slot < kHints; ++slot) {
    const std::uint64_t block = std::uint64_t{slot} << batch.hint_shift;
    while (i + 1 < batch.n_entries && batch.entry[i + 1].first_block <= block) ++i;
    batch.hint[slot] = static_cast<std::uint16_t>(i);
  }
}

// Calls body(batch) for the tensors in order, as many at a time as fit one launch. Tensors of 2^31
// or more elements are split.
template <class Body>
void for_each_batch(const OptimizerTensors& tensors, std::int64_t chunk, const Body& body) {
  auto batch = std::make_unique<Batch>();
  batch->n_entries = 0;
  batch->n_blocks = 0;
  const auto flush = [&] {
    if (batch->n_entries > 0) {
      set_hints(*batch);
      body(*batch);
    }
    batch->n_entries = 0;
    batch->n_blocks = 0;
  };
  const std::int64_t element = static_cast<std::int64_t>(size_of(tensors.dtype));
  const std::int64_t wide = tensors.dtype == DType::f64 ? 8 : 4;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  for (const OptimizerTensor& tensor : tensors.list) {
    for (std::int64_t begin = 0; begin < tensor.count; begin += kMost) {
      if (batch->n_entries == kMostTensors) flush();
      const std::int64_t count = std::min(kMost, tensor.count - begin);
      Entry& entry = batch->entry[batch->n_entries++];
      const auto moved = [begin](void* base, std::int64_t size) -> void* {
        return base == nullptr ? nullptr : static_cast<std::byte*>(base) + begin * size;
      };
      entry.parameter = moved(tensor.parameter, element);
      entry.gradient = moved(const_cast<void*>(tensor.gradient), element);
      for (int i = 0; i < kOptimizerStates; ++i) entry.state[i] = moved(tensor.state[i], wide);
      entry.master = moved(tensor.master, wide);
      entry.missed = tensor.missed;
      entry.first_block = batch->n_blocks;
      entry.count = static_cast<std::uint32_t>(count);
      batch->n_blocks += static_cast<std::uint32_t>((count + chunk - 1) / chunk);
    }
  }
  flush();
}

__global__ void begin_step_kernel(float* control, std::int64_t growth_interval) {
  begin_step(control, growth_interval);
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The values of one vector's elements in a thread.
template <int kVec, bool kMaster, int kStates, class T>
struct Held {
  using W = Wide<T>;
  Vector<T, kVec> parameter;
  Vector<T, kVec> gradient;
  Vector<W, kVec> master;
  Vector<W, kVec> state[kStates > 0 ? kStates : 1];

  __device__ __forceinline__ void load(const Entry& entry, std::uint32_t at) {
    if constexpr (kMaster) {
      master = load_vector<kVec>(static_cast<const W*>(entry.master) + at);
    } else {
      parameter = load_vector<kVec>(static_cast<const T*>(entry.parameter) + at);
    }
    gradient = load_vector<kVec>(static_cast<const T*>(entry.gradient) + at);
#pragma unroll
    for (int k = 0; k < kStates; ++k) {
      state[k] = load_vector<kVec>(static_cast<const W*>(entry.state[k]) + at);
    }
  }

  template <class Update>
  __device__ __forceinline__ void step(const Update& update, const optimizers::Step<W>& step,
                                       W scale) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      optimizers::Element<W> e{};
      e.parameter =
          kMaster ? master.value[i] : static_cast<W>(static_cast<Compute<T>>(parameter.value[i]));
      e.gradient = static_cast<W>(static_cast<Compute<T>>(gradient.value[i])) * scale;
#pragma unroll
      for (int k = 0; k < kStates; ++k) e.state[k] = state[k].value[i];
      update(e, step);
      parameter.value[i] = static_cast<T>(static_cast<Compute<T>>(e.parameter));
      master.value[i] = e.parameter;
#pragma unroll
      for (int k = 0; k < kStates; ++k) state[k].value[i] = e.state[k];
    }
  }

  __device__ __forceinline__ void store(const Entry& entry, std::uint32_t at) const {
    store_vector(static_cast<T*>(entry.parameter) + at, parameter);
    if constexpr (kMaster) store_vector(static_cast<W*>(entry.master) + at, master);
#pragma unroll
    for (int k = 0; k < kStates; ++k) {
      store_vector(static_cast<W*>(entry.state[k]) + at, state[k]);
    }
  }
};

template <class T>
constexpr int step_vector_width() {
  return 16 / static_cast<int>(sizeof(Wide<T>));
}
template <class T>
constexpr std::int64_t step_chunk() {
  return std::int64_t{kBlock} * step_vector_width<T>();
}

// One vector per thread. One thread computes the step's scalars while the others' loads are in
// flight.
template <bool kMaster, class T, class Update>
__global__ void __launch_bounds__(kBlock)
    step_kernel(const __grid_constant__ Batch batch, Update update, StepSettings<Wide<T>> settings,
                const float* control) {
  using W = Wide<T>;
  constexpr int kVec = step_vector_width<T>();
  __shared__ optimizers::Step<W> shared_step;
  const Entry& entry = find_entry(batch);
  const std::uint32_t at =
      (blockIdx.x - entry.first_block) * static_cast<std::uint32_t>(step_chunk<T>()) +
      threadIdx.x * kVec;
  const bool whole = at + kVec <= entry.count;
  Held<kVec, kMaster, Update::kStates, T> held;
  if (whole) held.load(entry, at);
  if (threadIdx.x == 0) shared_step = step_of(settings, control, entry.missed);
  __syncthreads();
  if (control_value(control, Control::skip) != 0.0f) return;
  const optimizers::Step<W> step = shared_step;
  const auto scale = static_cast<W>(control_value(control, Control::gradient_scale));
  if (whole) {
    held.step(update, step, scale);
    return held.store(entry, at);
  }
  for (std::uint32_t i = at; i < entry.count; ++i) {
    Held<1, kMaster, Update::kStates, T> one;
    one.load(entry, i);
    one.step(update, step, scale);
    one.store(entry, i);
  }
}

// Each block's sum of squares, in f64.
template <class T>
__global__ void __launch_bounds__(kBlock)
    norm_kernel(const __grid_constant__ Batch batch, double* partial) {
  constexpr int kVec = 16 / static_cast<int>(sizeof(T));
  const Entry& entry = find_entry(batch);
  const auto* gradient = static_cast<const T*>(entry.gradient);
  const std::uint32_t start =
      (blockIdx.x - entry.first_block) * static_cast<std::uint32_t>(kNormChunk);
  const std::uint32_t end = min(start + static_cast<std::uint32_t>(kNormChunk), entry.count);
  using W = Wide<T>;
  double sum = 0;
  for (std::uint32_t at = start + threadIdx.x * kVec; at < end; at += kBlock * kVec) {
    W squares = 0;
    if (at + kVec <= end) {
      const auto values = load_vector<kVec>(gradient + at);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const W value = static_cast<W>(static_cast<Compute<T>>(values.value[i]));
        squares += value * value;
      }
    } else {
      for (std::uint32_t i = at; i < end; ++i) {
        const W value = static_cast<W>(static_cast<Compute<T>>(gradient[i]));
        squares += value * value;
      }
    }
    sum += static_cast<double>(squares);
  }
  sum = reduce_block(reducers::Sum<double>(), sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kBlock)
    sum_kernel(const double* partial, std::int64_t n_partials, double* out) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n_partials; i += kBlock) sum += partial[i];
  sum = reduce_block(reducers::Sum<double>(), sum);
  if (threadIdx.x == 0) *out = sum;
}

__global__ void apply_norm_kernel(const double* sums, std::int64_t n_sums, double max_norm,
                                  float* control) {
  apply_norm(sums, n_sums, max_norm, control);
}

bool are_aligned(const OptimizerTensors& tensors) {
  std::uintptr_t bits = 0;
  for (const OptimizerTensor& tensor : tensors.list) {
    bits |= reinterpret_cast<std::uintptr_t>(tensor.parameter) |
            reinterpret_cast<std::uintptr_t>(tensor.gradient) |
            reinterpret_cast<std::uintptr_t>(tensor.master);
    for (const void* state : tensor.state) bits |= reinterpret_cast<std::uintptr_t>(state);
  }
  return bits % 16 == 0;
}

void require_aligned(const char* name, const OptimizerTensors& tensors) {
  if (are_aligned(tensors)) return;
  fail(ErrorKind::invalid_argument, name,
       "a parameter, gradient or state is not aligned to 16 bytes; clone() it");
}

}  // namespace

void begin_optimizer_step(StreamView stream, const Operand& control, std::int64_t growth_interval) {
  launch({"begin_optimizer_step", stream, dim3(1), dim3(1)}, begin_step_kernel,
         static_cast<float*>(control.data), growth_interval);
}

void gradient_squares(StreamView stream, const OptimizerTensors& tensors, const Operand& out) {
  require_aligned("gradient_squares", tensors);
  std::int64_t n_partials = 0;
  for_each_batch(tensors, kNormChunk, [&](const Batch& batch) { n_partials += batch.n_blocks; });
  const Buffer memory =
      pool_of(stream.device())
          .allocate(static_cast<std::size_t>(n_partials) * sizeof(double), stream);
  auto* partial = reinterpret_cast<double*>(memory.data());
  std::int64_t done = 0;
  dispatch_floating(tensors.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_batch(tensors, kNormChunk, [&](const Batch& batch) {
      launch({"gradient_squares", stream, dim3(batch.n_blocks), dim3(kBlock)}, norm_kernel<T>,
             batch, partial + done);
      done += batch.n_blocks;
    });
  });
  launch({"gradient_squares", stream, dim3(1), dim3(kBlock)}, sum_kernel, partial, n_partials,
         static_cast<double*>(out.data));
}

void gradient_norm(StreamView stream, const Operand& squares, double max_norm,
                   const Operand& control) {
  launch({"gradient_norm", stream, dim3(1), dim3(1)}, apply_norm_kernel,
         static_cast<const double*>(squares.data), numel(squares.shape), max_norm,
         static_cast<float*>(control.data));
}

void optimizer_step(StreamView stream, const OptimizerSettings& settings,
                    const OptimizerTensors& tensors, const Operand& control) {
  require_aligned("optimizer_step", tensors);
  const auto* numbers = static_cast<const float*>(control.data);
  const bool masters = !tensors.list.empty() && tensors.list.front().master != nullptr;
  dispatch_floating(tensors.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const StepSettings<W> how = step_settings<W>(settings);
    visit(settings.op, [&](auto update) {
      using Update = decltype(update);
      for_each_batch(tensors, step_chunk<T>(), [&](const Batch& batch) {
        const Launch where("optimizer_step", stream, dim3(batch.n_blocks), dim3(kBlock));
        if constexpr (sizeof(T) == 2) {
          if (masters)
            return launch(where, step_kernel<true, T, Update>, batch, update, how, numbers);
        }
        launch(where, step_kernel<false, T, Update>, batch, update, how, numbers);
      });
    });
  });
}

}  // namespace causeway::kernels::cuda
