// Batch norm over the channels of a cube, and its gradient, on the CPU. Each channel is computed by
// one thread; its runs of pixels are summed lane by lane and the runs in f64, mean before variance.
// If runs are short, whole images are processed with lanes across channels. Bound by memory.
#include "causeway/kernels/row_sums_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_arrays.h"

#include <array>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kShortRun = 16;  // pixels
constexpr std::int64_t kRowsTogether = 64;
constexpr std::int64_t kMostPieces = 64;

// Short runs: pieces of the images, their number fixed by the shape, are summed by columns of the
// (images, channels * pixels) matrix, several rows at a time in the compute type.
template <class C, class Finish, class... Terms>
void sum_columns(Cube cube, const Finish& finish, const Terms&... terms) {
  constexpr std::size_t kTerms = sizeof...(Terms);
  const std::int64_t image = cube.axis * cube.inner;
  const std::int64_t piece = std::max(kRowsTogether, (cube.outer + kMostPieces - 1) / kMostPieces);
  const std::int64_t n_pieces = (cube.outer + piece - 1) / piece;
  const auto width = static_cast<std::size_t>(image);
  std::vector<double> partial(static_cast<std::size_t>(n_pieces) * kTerms * width);
  parallel_for(n_pieces, row_grain(piece * image), [&](std::int64_t begin, std::int64_t end) {
    std::vector<C> sums(width);
    const auto add_rows = [&](std::int64_t first, std::int64_t last, double* to, const auto& term) {
      std::fill(sums.begin(), sums.end(), C(0));
      C* __restrict into = sums.data();
      for (std::int64_t row = first; row < last; ++row) {
        if (cube.inner == 1) {
#pragma omp simd
          for (std::int64_t i = 0; i < image; ++i) into[i] += term(i, row * image + i);
        } else {
          for (std::int64_t i = 0; i < image; ++i) into[i] += term(i / cube.inner, row * image + i);
        }
      }
      for (std::int64_t i = 0; i < image; ++i) to[i] += static_cast<double>(into[i]);
    };
    for (std::int64_t first = begin * piece; first < std::min(end * piece, cube.outer);) {
      const std::int64_t at = first / piece;
      const std::int64_t last = std::min({first + kRowsTogether, (at + 1) * piece, cube.outer});
      double* to = partial.data() + static_cast<std::size_t>(at) * kTerms * width;
      std::size_t which = 0;
      (add_rows(first, last, to + width * which++, terms), ...);
      first = last;
    }
  });
  for (std::int64_t channel = 0; channel < cube.axis; ++channel) {
    std::array<double, kTerms> sums{};
    for (std::size_t line = 0; line < static_cast<std::size_t>(n_pieces) * kTerms; ++line) {
      for (std::int64_t i = channel * cube.inner; i < (channel + 1) * cube.inner; ++i) {
        sums[line % kTerms] += partial[line * width + static_cast<std::size_t>(i)];
      }
    }
    finish(channel, sums);
  }
}

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
  sum_columns<C>(cube, finish, terms...);
}

// Calls function(channel, at) for every position of the cube.
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

template <class T>
void batch_statistics(const BatchNorm& how, const BatchNormArrays<T>& arrays) {
  using C = Compute<T>;
  const auto* x = arrays.in;
  auto* running_mean = arrays.running_mean;
  auto* running_variance = arrays.running_variance;
  auto* mean = arrays.mean;
  auto* rstd = arrays.rstd;
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
    const BatchNormArrays<T> arrays(in, weight, bias, running_mean, running_variance, out, mean,
                                    rstd);
    const T* x = arrays.in;
    const T* w = arrays.weight;
    const T* b = arrays.bias;
    T* to = arrays.out;
    C* means = arrays.mean;
    C* rstds = arrays.rstd;
    if (how.training) {
      batch_statistics(how, arrays);
    } else {
      for (std::int64_t channel = 0; channel < how.cube.axis; ++channel) {
        means[channel] = arrays.running_mean[channel];
        rstds[channel] =
            C(1) / math::sqrt(arrays.running_variance[channel] + static_cast<C>(how.epsilon));
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
    const BatchNormGradientArrays<T> arrays(in, weight, mean, rstd, gradient, in_gradient,
                                            weight_gradient, bias_gradient);
    const T* x = arrays.in;
    const T* g = arrays.gradient;
    const T* w = arrays.weight;
    const C* means = arrays.mean;
    const C* rstds = arrays.rstd;
    T* to = arrays.in_gradient;
    T* to_weight = arrays.weight_gradient;
    T* to_bias = arrays.bias_gradient;
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
