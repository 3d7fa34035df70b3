// Convolution on the CPU (im2col by tiles): each tile of output positions is gathered into a matrix
// of its windows, small enough for the cache, and multiplied like a linear layer. Bound by
// arithmetic.
#include "causeway/kernels/convolution/convolution.h"

#include "causeway/kernels/matmul/blocked_product_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include <cblas.h>

namespace causeway::kernels::cpu {

namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// c (rows, columns) = a (rows, inner) b (inner, columns) [+ c]; a and b may be transposed.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t inner;
  std::int64_t leading_a;
  std::int64_t leading_b;
  bool adds = false;

  void operator()(const float* a, const float* b, float* c) const {
    if (multiply_blocks({rows, inner, leading_a, transpose_a}, a,
                        {inner, columns, leading_b, transpose_b}, b, adds, c)) {
      return;
    }
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(rows),
                static_cast<blasint>(columns), static_cast<blasint>(inner), 1.0f, a,
                static_cast<blasint>(leading_a), b, static_cast<blasint>(leading_b),
                adds ? 1.0f : 0.0f, c, static_cast<blasint>(columns));
  }
  void operator()(const double* a, const double* b, double* c) const {
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(rows),
                static_cast<blasint>(columns), static_cast<blasint>(inner), 1.0, a,
                static_cast<blasint>(leading_a), b, static_cast<blasint>(leading_b),
                adds ? 1.0 : 0.0, c, static_cast<blasint>(columns));
  }
};

// A run of adjacent positions of a tile, for one tap: position begin + i reads image[from + (i -
// first) * step] for i in [first, last) and padding otherwise.
struct Run {
  std::int64_t tap;
  std::int64_t begin;
  std::int64_t count;
  std::int64_t first;
  std::int64_t last;
  std::int64_t from;
  std::int64_t step;
};

// The sizes of one call. Images are divided into channel groups, outputs into tiles of positions.
struct Geometry {
  Convolution how;
  std::int64_t images, in_channels, height, width;   // of the input; channels of one group
  std::int64_t out_channels, out_height, out_width;  // of the output; channels of one group
  std::int64_t window_height, window_width;
  std::int64_t n_positions;  // out_height * out_width
  std::int64_t n_taps;       // in_channels * window_height * window_width
  std::int64_t tile;         // positions per tile
  std::int64_t n_tiles;

  Geometry(const Convolution& h, const Shape& in, const Shape& weight, const Shape& out)
      : how(h),
        images(in[0]),
        in_channels(in[1] / h.groups),
        height(in[2]),
        width(in[3]),
        out_channels(out[1] / h.groups),
        out_height(out[2]),
        out_width(out[3]),
        window_height(weight[2]),
        window_width(weight[3]),
        n_positions(out_height * out_width),
        n_taps(in_channels * window_height * window_width) {
    constexpr std::int64_t kCacheElements = 96 * 1024;
    tile = std::clamp<std::int64_t>(kCacheElements / n_taps, 32, 1024);
    tile = std::min(tile, n_positions);
    n_tiles = (n_positions + tile - 1) / tile;
  }

  std::int64_t in_group() const { return in_channels * height * width; }
  std::int64_t out_group() const { return out_channels * n_positions; }
  std::int64_t weight_group() const { return out_channels * n_taps; }
  std::int64_t tile_size(std::int64_t index) const {
    return std::min(tile, n_positions - index * tile);
  }

  // Calls body(run) for all runs of `count` positions.
  template <class Body>
  void for_each_run(std::int64_t position, std::int64_t count, const Body& body) const {
    const std::int64_t step = how.stride[1];
    for (std::int64_t tap = 0; tap < n_taps; ++tap) {
      const std::int64_t tap_x = tap % window_width * how.dilation[1] - how.padding[1];
      const std::int64_t tap_y =
          tap / window_width % window_height * how.dilation[0] - how.padding[0];
      const std::int64_t plane = tap / (window_width * window_height) * height * width;
      for (std::int64_t done = 0; done < count;) {
        const std::int64_t out_x = (position + done) % out_width;
        const std::int64_t run = std::min(out_width - out_x, count - done);
        const std::int64_t y = (position + done) / out_width * how.stride[0] + tap_y;
        const std::int64_t x = out_x * step + tap_x;
        const auto before = [&](std::int64_t column) {  // positions of the run before it
          return std::clamp<std::int64_t>((column - x + step - 1) / step, 0, run);
        };
        const bool in_image = y >= 0 && y < height;
        const std::int64_t first = in_image ? before(0) : run;
        const std::int64_t last = in_image ? before(width) : run;
        body(Run{tap, done, run, first, last, plane + y * width + x + first * step, step});
        done += run;
      }
    }
  }
};

// Fills matrix (n_taps, count) with the windows of `count` positions; zeros outside the image.
template <class T>
void gather_windows(const Geometry& g, const T* image, std::int64_t position, std::int64_t count,
                    Wide<T>* matrix) {
  g.for_each_run(position, count, [&](const Run& run) {
    Wide<T>* to = matrix + run.tap * count + run.begin;
    std::fill(to, to + run.first, Wide<T>(0));
    for (std::int64_t i = 0; i < run.last - run.first; ++i) {
      to[run.first + i] = static_cast<Wide<T>>(image[run.from + i * run.step]);
    }
    std::fill(to + run.last, to + run.count, Wide<T>(0));
  });
}

// Adds a matrix of the same form to the positions it was gathered from.
template <class W>
void scatter_windows(const Geometry& g, const W* matrix, std::int64_t position, std::int64_t count,
                     W* image) {
  g.for_each_run(position, count, [&](const Run& run) {
    const W* from = matrix + run.tap * count + run.begin + run.first;
    for (std::int64_t i = 0; i < run.last - run.first; ++i) {
      image[run.from + i * run.step] += from[i];
    }
  });
}

// The operand in the accumulation type: itself, or a converted copy.
template <class T>
class Widened {
 public:
  explicit Widened(const Operand& operand) : data_(static_cast<const Wide<T>*>(operand.data)) {
    if constexpr (!std::is_same_v<T, Wide<T>>) {
      const T* from = static_cast<const T*>(operand.data);
      copy_.assign(from, from + numel(operand.shape));
      data_ = copy_.data();
    }
  }
  const Wide<T>* data() const { return data_; }

 private:
  std::vector<Wide<T>> copy_;
  const Wide<T>* data_;
};

template <class T>
void store(const Wide<T>* from, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

}  // namespace

void convolution(StreamView, const Convolution& how, const Operand& in, const Operand& weight,
                 const Operand& out) {
  const Geometry g(how, in.shape, weight.shape, out.shape);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const Widened<T> filter(weight);
    const std::int64_t tasks = g.images * how.groups * g.n_tiles;
    parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> matrix(static_cast<std::size_t>(g.n_taps * g.tile));
      std::vector<W> result(static_cast<std::size_t>(g.out_channels * g.tile));
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t plane = task / g.n_tiles;  // image and group
        const std::int64_t first = task % g.n_tiles * g.tile;
        const std::int64_t count = g.tile_size(task % g.n_tiles);
        const T* image = static_cast<const T*>(in.data) + plane * g.in_group();
        gather_windows(g, image, first, count, matrix.data());
        const W* filters = filter.data() + plane % how.groups * g.weight_group();
        Gemm{false, false, g.out_channels, count, g.n_taps, g.n_taps, count}(filters, matrix.data(),
                                                                             result.data());
        T* to = static_cast<T*>(out.data) + plane * g.out_group() + first;
        for (std::int64_t channel = 0; channel < g.out_channels; ++channel) {
          store<T>(result.data() + channel * count, count, to + channel * g.n_positions);
        }
      }
    });
  });
}

void convolution_input_gradient(StreamView, const Convolution& how, const Operand& gradient,
                                const Operand& weight, const Operand& in_gradient) {
  const Geometry g(how, in_gradient.shape, weight.shape, gradient.shape);
  dispatch_floating(gradient.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const Widened<T> filter(weight);
    // Windows overlap: one thread sums all contributions to a plane.
    parallel_for(g.images * how.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> matrix(static_cast<std::size_t>(g.n_taps * g.tile));
      std::vector<W> piece(static_cast<std::size_t>(g.out_channels * g.tile));
      std::vector<W> sums(static_cast<std::size_t>(g.in_group()));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const T* from = static_cast<const T*>(gradient.data) + plane * g.out_group();
        const W* filters = filter.data() + plane % how.groups * g.weight_group();
        std::fill(sums.begin(), sums.end(), W(0));
        for (std::int64_t index = 0; index < g.n_tiles; ++index) {
          const std::int64_t first = index * g.tile;
          const std::int64_t count = g.tile_size(index);
          for (std::int64_t channel = 0; channel < g.out_channels; ++channel) {
            const T* line = from + channel * g.n_positions + first;
            std::copy(line, line + count, piece.data() + channel * count);
          }
          Gemm{true, false, g.n_taps, count, g.out_channels, g.n_taps, count}(filters, piece.data(),
                                                                              matrix.data());
          scatter_windows(g, matrix.data(), first, count, sums.data());
        }
        store<T>(sums.data(), g.in_group(),
                 static_cast<T*>(in_gradient.data) + plane * g.in_group());
      }
    });
  });
}

void convolution_weight_gradient(StreamView, const Convolution& how, const Operand& in,
                                 const Operand& gradient, const Operand& weight_gradient) {
  const Geometry g(how, in.shape, weight_gradient.shape, gradient.shape);
  dispatch_floating(gradient.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    // Images are summed in a number of groups that depends on the shape only, then the groups.
    const std::int64_t parts = std::min<std::int64_t>(g.images, 8);
    const std::int64_t size = numel(weight_gradient.shape);
    std::vector<W> partial(static_cast<std::size_t>(parts * size));
    parallel_for(parts * how.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<W> matrix(static_cast<std::size_t>(g.n_taps * g.tile));
      std::vector<W> piece(static_cast<std::size_t>(g.out_channels * g.tile));
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t part = task / how.groups;
        const std::int64_t group = task % how.groups;
        W* sums = partial.data() + part * size + group * g.weight_group();
        bool adds = false;
        for (std::int64_t image = part; image < g.images; image += parts) {
          const std::int64_t plane = image * how.groups + group;
          const T* planes = static_cast<const T*>(in.data) + plane * g.in_group();
          const T* from = static_cast<const T*>(gradient.data) + plane * g.out_group();
          for (std::int64_t index = 0; index < g.n_tiles; ++index) {
            const std::int64_t first = index * g.tile;
            const std::int64_t count = g.tile_size(index);
            gather_windows(g, planes, first, count, matrix.data());
            for (std::int64_t channel = 0; channel < g.out_channels; ++channel) {
              const T* line = from + channel * g.n_positions + first;
              std::copy(line, line + count, piece.data() + channel * count);
            }
            Gemm{false, true, g.out_channels, g.n_taps, count, count, count, adds}(
                piece.data(), matrix.data(), sums);
            adds = true;
          }
        }
      }
    });
    parallel_for(size, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        W sum = 0;
        for (std::int64_t part = 0; part < parts; ++part) {
          sum += partial[static_cast<std::size_t>(part * size + i)];
        }
        static_cast<T*>(weight_gradient.data)[i] = static_cast<T>(sum);
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
