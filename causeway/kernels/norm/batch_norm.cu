// Batch norm over the channels of a cube, and its gradient. Bytes: in training the input twice (the
// gradient's inputs twice) and the result once; bound by memory. Statistics are merged with Chan's
// formula, in a fixed order.
#include "causeway/kernels/norm/batch_norm.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_arrays.h"

namespace causeway::kernels::cuda {

namespace {

// Mean and sum of squared deviations of a channel.
template <class T>
struct MomentSums {
  using C = Compute<T>;
  using Acc = reducers::Moments<C>;
  static constexpr int kGroup = 8;
  const T* in;

  static __device__ __forceinline__ Acc none() { return {C(0), C(0), C(0)}; }
  static __device__ __forceinline__ Acc combine(const Acc& a, const Acc& b) {
    return reducers::Variance<T>().combine(a, b);
  }
  // Moments of the first n elements, with two passes over the loaded values.
  __device__ __forceinline__ Acc read(std::int64_t, const std::int64_t (&at)[kGroup], int n) const {
    C value[kGroup];
    C sum = C(0);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) value[i] = i < n ? static_cast<C>(in[at[i]]) : C(0);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) sum += value[i];
    const C mean = sum / static_cast<C>(n);
    C squares = C(0);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      squares += i < n ? (value[i] - mean) * (value[i] - mean) : C(0);
    }
    return {static_cast<C>(n), mean, squares};
  }
};

template <class C>
struct GradientPair {
  C flat;   // sum of the gradient
  C along;  // sum of the gradient times the normalised input
};

template <class T>
struct GradientSums {
  using C = Compute<T>;
  using Acc = GradientPair<C>;
  static constexpr int kGroup = 4;
  const T* in;
  const T* gradient;
  const C* mean;
  const C* rstd;

  static __device__ __forceinline__ Acc none() { return {C(0), C(0)}; }
  static __device__ __forceinline__ Acc combine(const Acc& a, const Acc& b) {
    return {a.flat + b.flat, a.along + b.along};
  }
  __device__ __forceinline__ Acc read(std::int64_t channel, const std::int64_t (&at)[kGroup],
                                      int n) const {
    C x[kGroup];
    C g[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      x[i] = i < n ? static_cast<C>(in[at[i]]) : C(0);
      g[i] = i < n ? static_cast<C>(gradient[at[i]]) : C(0);
    }
    Acc acc = none();
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      if (i >= n) continue;
      acc.flat += g[i];
      acc.along += g[i] * ((x[i] - mean[channel]) * rstd[channel]);
    }
    return acc;
  }
};

// One number per channel.
template <class C>
struct ChannelStatistics {
  C* running_mean;
  C* running_variance;
  C* mean;
  C* rstd;
  std::int64_t n_channels;
  C momentum;
  C epsilon;
};

// One warp per channel: combines the batch's statistics from their pieces and updates the running
// ones.
template <class T>
__global__ void __launch_bounds__(kThreads)
    batch_statistics_kernel(const reducers::Moments<Compute<T>>* partial, int n_pieces,
                            int per_channel, ChannelStatistics<Compute<T>> to) {
  using C = Compute<T>;
  wait_for_previous();
  const std::int64_t channel = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (channel >= to.n_channels) return;
  const auto acc =
      combine_channel<MomentSums<T>>(partial, channel, to.n_channels, n_pieces, per_channel);
  if (threadIdx.x % 32 != 0) return;
  to.mean[channel] = acc.mean;
  to.rstd[channel] = C(1) / math::sqrt(acc.squares / acc.count + to.epsilon);
  const C kept = C(1) - to.momentum;
  if (to.running_mean != nullptr) {
    to.running_mean[channel] = kept * to.running_mean[channel] + to.momentum * acc.mean;
  }
  if (to.running_variance != nullptr) {
    const C unbiased = acc.squares / (acc.count > C(1) ? acc.count - C(1) : C(1));
    to.running_variance[channel] = kept * to.running_variance[channel] + to.momentum * unbiased;
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads) running_statistics_kernel(ChannelStatistics<C> to) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (channel >= to.n_channels) return;
  to.mean[channel] = to.running_mean[channel];
  to.rstd[channel] = C(1) / math::sqrt(to.running_variance[channel] + to.epsilon);
}

// One warp per channel: the gradients of weight and bias, and the sums that the input's gradient
// needs.
template <class T>
__global__ void __launch_bounds__(kThreads)
    channel_gradients_kernel(const GradientPair<Compute<T>>* partial, int n_pieces, int per_channel,
                             std::int64_t n_channels, GradientPair<Compute<T>>* sums,
                             T* weight_gradient, T* bias_gradient) {
  wait_for_previous();
  const std::int64_t channel = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (channel >= n_channels) return;
  const auto acc =
      combine_channel<GradientSums<T>>(partial, channel, n_channels, n_pieces, per_channel);
  if (threadIdx.x % 32 != 0) return;
  sums[channel] = acc;
  if (weight_gradient != nullptr) weight_gradient[channel] = static_cast<T>(acc.along);
  if (bias_gradient != nullptr) bias_gradient[channel] = static_cast<T>(acc.flat);
}

// The channel of an element; at most 2^31 - 1 elements.
struct ChannelOf {
  FastDivider pixels;
  FastDivider channels;

  __device__ __forceinline__ std::uint32_t operator()(std::uint32_t at) const {
    const std::uint32_t line = pixels.quotient(at);
    return line - channels.quotient(line) * channels.divisor;
  }
};

// Functions of one element, its channel and, if kTwo, a second input.
template <class T>
struct Normalise {
  using C = Compute<T>;
  static constexpr bool kTwo = false;
  const T* weight;
  const T* bias;
  const C* mean;
  const C* rstd;

  __device__ __forceinline__ C operator()(std::uint32_t channel, C x, C) const {
    const C w = weight != nullptr ? static_cast<C>(weight[channel]) : C(1);
    const C b = bias != nullptr ? static_cast<C>(bias[channel]) : C(0);
    return (x - mean[channel]) * rstd[channel] * w + b;
  }
};

template <class T>
struct NormaliseGradient {
  using C = Compute<T>;
  static constexpr bool kTwo = true;
  const T* weight;
  const C* mean;
  const C* rstd;
  const GradientPair<C>* sums;  // nullptr if the running statistics were used
  C share;

  __device__ __forceinline__ C operator()(std::uint32_t channel, C x, C g) const {
    const C w = weight != nullptr ? static_cast<C>(weight[channel]) : C(1);
    const C factor = rstd[channel] * w;
    if (sums == nullptr) return factor * g;
    const C normal = (x - mean[channel]) * rstd[channel];
    return factor * (g - sums[channel].flat * share - normal * sums[channel].along * share);
  }
};

template <int kVec, class T, class Function>
__global__ void __launch_bounds__(kThreads)
    map_channels_kernel(Function function, const T* in, const T* gradient, T* out,
                        std::uint32_t count, ChannelOf channel_of, bool one_channel) {
  using C = Compute<T>;
  wait_for_previous();
  const std::uint32_t first = (blockIdx.x * kThreads + threadIdx.x) * kVec;
  if (first >= count) return;
  auto x = unpack(load_vector<kVec>(in + first));
  Values<C, kVec> g{};
  if constexpr (Function::kTwo) g = unpack(load_vector<kVec>(gradient + first));
  std::uint32_t channel = channel_of(first);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    if (i > 0 && !one_channel) channel = channel_of(first + i);
    x.value[i] = function(channel, x.value[i], g.value[i]);
  }
  store_vector(out + first, pack<T>(x));
}

// Applies the function in pieces of whole images that fit 32-bit indices.
template <class T, class Function>
void map_channels(StreamView stream, const Function& function, const T* in, const T* gradient,
                  T* out, Cube cube) {
  constexpr int kVec = vector_width<T>();
  const std::int64_t image = cube.axis * cube.inner;
  const std::int64_t images = std::max<std::int64_t>(1, (std::int64_t{1} << 30) / image);
  const bool aligned = rows_align(image, kVec, sizeof(T), in, gradient, out);
  const ChannelOf channel_of = {FastDivider(static_cast<std::uint32_t>(cube.inner)),
                                FastDivider(static_cast<std::uint32_t>(cube.axis))};
  for (std::int64_t first = 0; first < cube.outer; first += images) {
    const std::int64_t count = std::min(images, cube.outer - first) * image;
    const std::int64_t offset = first * image;
    const int vec = aligned ? kVec : 1;
    const Launch how("batch_norm", stream, grid_for(static_cast<std::uint32_t>(count / vec), 1),
                     dim3(kThreads));
    launch(how.overlapping(),
           aligned ? map_channels_kernel<kVec, T, Function> : map_channels_kernel<1, T, Function>,
           function, in + offset, gradient != nullptr ? gradient + offset : nullptr, out + offset,
           static_cast<std::uint32_t>(count), channel_of, cube.inner % vec == 0);
  }
}

unsigned warp_blocks(std::int64_t n_channels) { return blocks_for(n_channels * 32, kThreads); }

}  // namespace

void batch_norm(StreamView stream, const BatchNorm& how, const Operand& in, const Operand& weight,
                const Operand& bias, const Operand& running_mean, const Operand& running_variance,
                const Operand& out, const Operand& mean, const Operand& rstd) {
  if (how.cube.count() == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const BatchNormArrays<T> arrays(in, weight, bias, running_mean, running_variance, out, mean,
                                    rstd);
    const ChannelStatistics<C> statistics = {arrays.running_mean,
                                             arrays.running_variance,
                                             arrays.mean,
                                             arrays.rstd,
                                             how.cube.axis,
                                             static_cast<C>(how.momentum),
                                             static_cast<C>(how.epsilon)};
    if (how.training) {
      const auto partials = sum_channels(stream, MomentSums<T>{arrays.in}, how.cube);
      const Launch second("batch_norm", stream, dim3(warp_blocks(how.cube.axis)), dim3(kThreads));
      launch(second.overlapping(), batch_statistics_kernel<T>, partials.data, partials.n_pieces,
             partials.per_channel, statistics);
    } else {
      launch({"batch_norm", stream, dim3(blocks_for(how.cube.axis, kThreads)), dim3(kThreads)},
             running_statistics_kernel<C>, statistics);
    }
    const Normalise<T> function = {arrays.weight, arrays.bias, arrays.mean, arrays.rstd};
    map_channels<T>(stream, function, arrays.in, nullptr, arrays.out, how.cube);
  });
}

void batch_norm_gradient(StreamView stream, const BatchNorm& how, const Operand& in,
                         const Operand& weight, const Operand& mean, const Operand& rstd,
                         const Operand& gradient, const Operand& in_gradient,
                         const Operand& weight_gradient, const Operand& bias_gradient) {
  if (how.cube.count() == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const BatchNormGradientArrays<T> arrays(in, weight, mean, rstd, gradient, in_gradient,
                                            weight_gradient, bias_gradient);
    NormaliseGradient<T> function = {arrays.weight, arrays.mean, arrays.rstd, nullptr,
                                     C(1) / static_cast<C>(how.cube.outer * how.cube.inner)};
    Buffer sums;
    if (how.training || arrays.weight_gradient != nullptr || arrays.bias_gradient != nullptr) {
      const GradientSums<T> reads = {arrays.in, arrays.gradient, arrays.mean, arrays.rstd};
      const auto partials = sum_channels(stream, reads, how.cube);
      sums = allocate_partial<GradientPair<C>>(stream, how.cube.axis);
      auto* found = reinterpret_cast<GradientPair<C>*>(sums.data());
      const Launch second("batch_norm", stream, dim3(warp_blocks(how.cube.axis)), dim3(kThreads));
      launch(second.overlapping(), channel_gradients_kernel<T>, partials.data, partials.n_pieces,
             partials.per_channel, how.cube.axis, found, arrays.weight_gradient,
             arrays.bias_gradient);
      if (how.training) function.sums = found;
    }
    map_channels<T>(stream, function, arrays.in, arrays.gradient, arrays.in_gradient, how.cube);
  });
}

}  // namespace causeway::kernels::cuda
