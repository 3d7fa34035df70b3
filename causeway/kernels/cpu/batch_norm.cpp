// Batch norm of the channels of a cube, and its gradient, on the CPU. A channel belongs to one
// thread; its runs of pixels are summed lane by lane and the runs in f64, mean before variance.
// Where runs are short, neighbouring channels are walked together, so that the lanes go across
// them. Bound by memory.
#include "causeway/kernels/cpu/row_sums.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/normalize.h"

#include <array>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kShortRun = 16;  // pixels
constexpr std::int64_t kTogether = 64;  // columns walked together

// Calls finish(channel, sums) with the sums of each term(channel, at) over the channel's flat
// positions.
template <class C, class Finish, class... Terms>
void sum_channels(Cube cube, const Finish& finish, const Terms&... terms) {
  using Sums = std::array<double, sizeof...(Terms)>;
  const std::int64_t image = cube.axis * cube.inner;
  if (cube.inner >= kShortRun) {
    return parallel_for(
        cube.axis, row_grain(cube.outer * cube.inner), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t channel = begin; channel < end; ++channel) {
            Sums sums{};
            for (std::int64_t first = channel * cube.inner; first < cube.count(); first += image) {
              std::size_t which = 0;
              ((sums[which++] += static_cast<double>(sum_row<C>(
                    cube.inner,
                    [&](std::int64_t i) CAUSEWAY_INLINE { return terms(channel, first + i); }))),
               ...);
            }
            finish(channel, sums);
          }
        });
  }
  const std::int64_t group = std::max<std::int64_t>(1, kTogether / cube.inner);  // channels
  const std::int64_t n_groups = (cube.axis + group - 1) / group;
  const auto walk = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * group; first < std::min(end * group, cube.axis);
         first += group) {
      const std::int64_t channels = std::min(group, cube.axis - first);
      const std::int64_t n_columns = channels * cube.inner;
      std::array<std::array<double, kTogether>, sizeof...(Terms)> columns{};
      std::array<std::int64_t, kTogether> channel_of{};
      for (std::int64_t i = 0; i < n_columns; ++i) {
        channel_of[static_cast<std::size_t>(i)] = first + i / cube.inner;
      }
      const auto add_row = [&](std::int64_t at, std::array<double, kTogether>& sums,
                               const auto& term) {
#pragma omp simd
        for (std::int64_t i = 0; i < n_columns; ++i) {
          const auto slot = static_cast<std::size_t>(i);
          sums[slot] += static_cast<double>(term(channel_of[slot], at + i));
        }
      };
      for (std::int64_t row = 0; row < cube.outer; ++row) {
        std::size_t which = 0;
        (add_row(row * image + first * cube.inner, columns[which++], terms), ...);
      }
      for (std::int64_t k = 0; k < channels; ++k) {
        Sums sums{};
        for (std::size_t which = 0; which < sums.size(); ++which) {
          for (std::int64_t i = 0; i < cube.inner; ++i) {
            sums[which] += columns[which][static_cast<std::size_t>(k * cube.inner + i)];
          }
        }
        finish(first + k, sums);
      }
    }
  };
  parallel_for(n_groups, row_grain(cube.outer * kTogether), walk);
}

// out[at] = function(channel, at) for every position of the cube.
template <class Function>
void map_channels(Cube cube, const Function& function) {
  const std::int64_t image = cube.axis * cube.inner;
  if (cube.inner >= kShortRun) {
    return parallel_for(cube.outer * cube.axis, row_grain(cube.inner),
                        [&](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t line = begin; line < end; ++line) {
                            const std::int64_t channel = line % cube.axis;
#pragma omp simd
                            for (std::int64_t i = 0; i < cube.inner; ++i) {
                              function(channel, line * cube.inner + i);
                            }
                          }
                        });
  }
  parallel_for(cube.outer, row_grain(image), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      if (cube.inner == 1) {
#pragma omp simd
        for (std::int64_t i = 0; i < image; ++i) function(i, row * image + i);
        continue;
      }
      for (std::int64_t i = 0; i < image; ++i) function(i / cube.inner, row * image + i);
    }
  });
}

template <class T, class C>
void batch_statistics(const BatchNorm& how, const T* x, C* running_mean, C* running_variance,
                      C* mean, C* rstd) {
  const auto count = static_cast<double>(how.cube.outer * how.cube.inner);
  sum_channels<C>(
      how.cube,
      [&](std::int64_t channel, const auto& sums) {
        mean[channel] = static_cast<C>(sums[0] / count);
      },
      [&](std::int64_t, std::int64_t at) CAUSEWAY_INLINE { return static_cast<C>(x[at]); });
  const auto finish = [&](std::int64_t channel, const auto& sums) {
    const double squares = sums[0];
    rstd[channel] =
        C(1) / math::sqrt(static_cast<C>(squares / count) + static_cast<C>(how.epsilon));
    const double kept = 1 - how.momentum;
    if (running_mean != nullptr) {
      running_mean[channel] = static_cast<C>(kept * static_cast<double>(running_mean[channel]) +
                                             how.momentum * static_cast<double>(mean[channel]));
    }
    if (running_variance != nullptr) {
      const double unbiased = squares / std::max(count - 1, 1.0);
      running_variance[channel] = static_cast<C>(
          kept * static_cast<double>(running_variance[channel]) + how.momentum * unbiased);
    }
  };
  sum_channels<C>(how.cube, finish, [&](std::int64_t channel, std::int64_t at) CAUSEWAY_INLINE {
    const C distance = static_cast<C>(x[at]) - mean[channel];
    return distance * distance;
  });
}

}  // namespace

void batch_norm(StreamView, const BatchNorm& how, const Operand& in, const Operand& weight,
                const Operand& bias, const Operand& running_mean, const Operand& running_variance,
                const Operand& out, const Operand& mean, const Operand& rstd) {
  if (how.cube.count() == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const auto* x = static_cast<const T*>(in.data);
    const auto* w = static_cast<const T*>(weight.data);
    const auto* b = static_cast<const T*>(bias.data);
    auto* to = static_cast<T*>(out.data);
    auto* means = static_cast<C*>(mean.data);
    auto* rstds = static_cast<C*>(rstd.data);
    auto* running_means = static_cast<C*>(running_mean.data);
    auto* running_variances = static_cast<C*>(running_variance.data);
    if (how.training) {
      batch_statistics(how, x, running_means, running_variances, means, rstds);
    } else {
      for (std::int64_t channel = 0; channel < how.cube.axis; ++channel) {
        means[channel] = running_means[channel];
        rstds[channel] =
            C(1) / math::sqrt(running_variances[channel] + static_cast<C>(how.epsilon));
      }
    }
    map_channels(how.cube, [&](std::int64_t channel, std::int64_t at) CAUSEWAY_INLINE {
      const C normal = (static_cast<C>(x[at]) - means[channel]) * rstds[channel];
      to[at] = static_cast<T>(normal * (w != nullptr ? static_cast<C>(w[channel]) : C(1)) +
                              (b != nullptr ? static_cast<C>(b[channel]) : C(0)));
    });
  });
}

void batch_norm_gradient(StreamView, const BatchNorm& how, const Operand& in, const Operand& weight,
                         const Operand& mean, const Operand& rstd, const Operand& gradient,
                         const Operand& in_gradient, const Operand& weight_gradient,
                         const Operand& bias_gradient) {
  if (how.cube.count() == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const auto* x = static_cast<const T*>(in.data);
    const auto* g = static_cast<const T*>(gradient.data);
    const auto* w = static_cast<const T*>(weight.data);
    const auto* means = static_cast<const C*>(mean.data);
    const auto* rstds = static_cast<const C*>(rstd.data);
    auto* to = static_cast<T*>(in_gradient.data);
    auto* to_weight = static_cast<T*>(weight_gradient.data);
    auto* to_bias = static_cast<T*>(bias_gradient.data);
    const auto n_channels = static_cast<std::size_t>(how.cube.axis);
    // The means of the gradient, and of the gradient times the normalised input.
    std::vector<C> flat(n_channels, C(0));
    std::vector<C> along(n_channels, C(0));
    const auto count = static_cast<double>(how.cube.outer * how.cube.inner);
    if (how.training || to_weight != nullptr || to_bias != nullptr) {
      const auto finish = [&](std::int64_t channel, const auto& sums) {
        if (to_bias != nullptr) to_bias[channel] = static_cast<T>(static_cast<C>(sums[0]));
        if (to_weight != nullptr) to_weight[channel] = static_cast<T>(static_cast<C>(sums[1]));
        if (!how.training) return;
        flat[static_cast<std::size_t>(channel)] = static_cast<C>(sums[0] / count);
        along[static_cast<std::size_t>(channel)] = static_cast<C>(sums[1] / count);
      };
      sum_channels<C>(
          how.cube, finish,
          [&](std::int64_t, std::int64_t at) CAUSEWAY_INLINE { return static_cast<C>(g[at]); },
          [&](std::int64_t channel, std::int64_t at) CAUSEWAY_INLINE {
            return static_cast<C>(g[at]) *
                   ((static_cast<C>(x[at]) - means[channel]) * rstds[channel]);
          });
    }
    map_channels(how.cube, [&](std::int64_t channel, std::int64_t at) CAUSEWAY_INLINE {
      const auto slot = static_cast<std::size_t>(channel);
      const C normal = (static_cast<C>(x[at]) - means[channel]) * rstds[channel];
      const C factor = rstds[channel] * (w != nullptr ? static_cast<C>(w[channel]) : C(1));
      to[at] = static_cast<T>(factor * (static_cast<C>(g[at]) - flat[slot] - normal * along[slot]));
    });
  });
}

}  // namespace causeway::kernels::cpu
