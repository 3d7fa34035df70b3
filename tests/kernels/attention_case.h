// One attention problem for every device and path: its inputs, a reference in f64 loops, and a run
// whose outputs are surrounded by guard elements that must not change.
#pragma once

#include "causeway/kernels/attention/attention.h"
#include "causeway/tensor/operand.h"
#include "tests/tensor/devices.h"

#include <array>
#include <fmt/format.h>

namespace causeway {

// Memory layout of q, k, v and their gradients; results are surrounded by guards in each.
enum class Placement {
  contiguous,
  bordered,  // rows with guards on both sides, 16 bytes apart
  packed,    // (batch, length, 3, heads, head size), the output of one projection
  odd,       // rows at odd addresses
};

struct AttentionCase {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t n_queries = 1;
  std::int64_t n_keys = 1;
  std::int64_t head_size = 8;
  kernels::AttentionMask mask = kernels::AttentionMask::full;
  std::vector<std::int64_t> context;  // empty if not used
  Placement placement = Placement::contiguous;
  double scale_times = 1;  // relative to 1 / sqrt(head_size)

  std::string name() const {
    std::string limits;
    for (std::int64_t limit : context) limits += fmt::format(" {}", limit);
    return fmt::format("({}, {}, {}x{}, {}) {}{}{} placement {} scale times {}", batch, heads,
                       n_queries, n_keys, head_size, to_string(mask),
                       context.empty() ? "" : " context", limits, static_cast<int>(placement),
                       scale_times);
  }
  double scale() const { return scale_times / std::sqrt(static_cast<double>(head_size)); }
  std::int64_t seen(std::int64_t entry, std::int64_t query) const {
    std::int64_t limit = n_keys;
    if (!context.empty()) limit = std::min(limit, context[static_cast<std::size_t>(entry)]);
    if (mask == kernels::AttentionMask::causal)
      limit = std::min(limit, query + n_keys - n_queries + 1);
    return std::max<std::int64_t>(limit, 0);
  }
};

// q, k, v and the gradient of the result, on the CPU.
struct AttentionInputs {
  Tensor q, k, v, gradient;
};

struct AttentionResults {
  Tensor out, log_sum, q_gradient, k_gradient, v_gradient;
};

// Values rounded to `dtype`.
inline AttentionInputs draw_inputs(const AttentionCase& c, DType dtype, std::uint64_t seed = 5) {
  Generator generator(seed);
  const Shape queries{c.batch, c.heads, c.n_queries, c.head_size};
  const Shape keys{c.batch, c.heads, c.n_keys, c.head_size};
  const auto draw_one = [&](const Shape& shape) {
    return generator.normal(shape, 0, 1, DType::f64).to(dtype);
  };
  return {draw_one(queries), draw_one(keys), draw_one(keys), draw_one(queries)};
}

// Direct evaluation of the definition in f64.
inline AttentionResults reference_attention(const AttentionCase& c, const AttentionInputs& inputs) {
  const auto values = [](const Tensor& x) { return x.to(DType::f64).to_vector<double>(); };
  const auto q = values(inputs.q);
  const auto k = values(inputs.k);
  const auto v = values(inputs.v);
  const auto g = values(inputs.gradient);
  std::vector<double> out(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  std::vector<double> log_sum(static_cast<std::size_t>(c.batch * c.heads * c.n_queries));
  const auto size = static_cast<std::size_t>(c.head_size);
  for (std::int64_t unit = 0; unit < c.batch * c.heads; ++unit) {
    for (std::int64_t query = 0; query < c.n_queries; ++query) {
      const auto row = static_cast<std::size_t>(unit * c.n_queries + query);
      const auto seen = static_cast<std::size_t>(c.seen(unit / c.heads, query));
      const auto first = static_cast<std::size_t>(unit * c.n_keys);
      std::vector<double> p(seen), slope(seen);
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t key = 0; key < seen; ++key) {
        for (std::size_t i = 0; i < size; ++i)
          p[key] += q[row * size + i] * k[(first + key) * size + i];
        p[key] *= c.scale();
        largest = std::max(largest, p[key]);
      }
      double sum = 0;
      for (double& value : p) sum += value = std::exp(value - largest);
      log_sum[row] = seen == 0 ? largest : largest + std::log(sum);
      double average = 0;
      for (std::size_t key = 0; key < seen; ++key) {
        p[key] /= sum;
        for (std::size_t i = 0; i < size; ++i) {
          out[row * size + i] += p[key] * v[(first + key) * size + i];
          slope[key] += g[row * size + i] * v[(first + key) * size + i];
        }
        average += p[key] * slope[key];
      }
      for (std::size_t key = 0; key < seen; ++key) {
        const double step = p[key] * (slope[key] - average) * c.scale();
        for (std::size_t i = 0; i < size; ++i) {
          dq[row * size + i] += step * k[(first + key) * size + i];
          dk[(first + key) * size + i] += step * q[row * size + i];
          dv[(first + key) * size + i] += p[key] * g[row * size + i];
        }
      }
    }
  }
  const auto tensor = [](const std::vector<double>& x, const Shape& shape) {
    return Tensor::from(std::span<const double>(x), shape);
  };
  const Shape queries = inputs.q.shape();
  return {tensor(out, queries), tensor(log_sum, {c.batch, c.heads, c.n_queries}),
          tensor(dq, queries), tensor(dk, inputs.k.shape()), tensor(dv, inputs.k.shape())};
}

// Memory filled with a guard value, and views into it; `check` expects every element outside of the
// views to be unchanged.
class Guarded {
 public:
  static constexpr double kGuard = -77;

  Guarded(const Shape& base, DType dtype, Device device)
      : base_(full(base, kGuard, dtype, device)) {}

  const Tensor& base() const { return base_; }
  void check(const std::vector<Tensor>& views, const std::string& what) const {
    for (const Tensor& view : views)
      view.copy_from(full(view.shape(), kGuard, view.dtype(), view.device()));
    expect_same_bytes(base_, full(base_.shape(), kGuard, base_.dtype()), "guards of " + what);
  }

 private:
  Tensor base_;
};

// A (batch, heads, length, size) view surrounded by guards.
inline Tensor placed(const Guarded& memory, const AttentionCase& c, std::int64_t length) {
  switch (c.placement) {
    case Placement::bordered:
      return memory.base().slice(2, 1, 1 + length).slice(3, 8, 8 + c.head_size);
    case Placement::odd: return memory.base().slice(2, 1, 1 + length).slice(3, 1, 1 + c.head_size);
    default:
      return memory.base()
          .slice(0, 64, 64 + c.batch * c.heads * length * c.head_size)
          .reshape({c.batch, c.heads, length, c.head_size});
  }
}

inline Shape guarded_shape(const AttentionCase& c, std::int64_t length) {
  switch (c.placement) {
    case Placement::bordered: return {c.batch, c.heads, length + 2, c.head_size + 16};
    case Placement::odd: return {c.batch, c.heads, length + 2, c.head_size + 3};
    default: return {c.batch * c.heads * length * c.head_size + 128};
  }
}

// q, k and v (which = 0, 1, 2) of one packed tensor.
inline Tensor packed_view(const Tensor& packed, int which) {
  return packed.select(2, which).transpose(1, 2);
}

// The forward pass on one path and the gradients on another; the results are on the CPU.
inline AttentionResults run_attention(const AttentionCase& c, const AttentionInputs& inputs,
                                      Device device, kernels::AttentionPath path,
                                      kernels::AttentionPath gradient_path) {
  const DType dtype = inputs.q.dtype();
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const StreamView stream = current_stream(device);
  const bool packed = c.placement == Placement::packed;
  kernels::Attention how;
  how.mask = c.mask;
  how.scale = c.scale();
  how.path = path;

  const Shape packed_shape{c.batch, c.n_queries, 3, c.heads, c.head_size};
  const Guarded packed_in(packed ? packed_shape : Shape{1}, dtype, device);
  const Guarded packed_out(packed ? packed_shape : Shape{1}, dtype, device);
  std::vector<Guarded> memory;
  const auto place = [&](std::int64_t length, int which, const Guarded& together) {
    if (packed && which >= 0) return packed_view(together.base(), which);
    memory.emplace_back(guarded_shape(c, length), dtype, device);
    return placed(memory.back(), c, length);
  };
  const Tensor q = place(c.n_queries, 0, packed_in);
  const Tensor k = place(c.n_keys, 1, packed_in);
  const Tensor v = place(c.n_keys, 2, packed_in);
  const Tensor gradient = place(c.n_queries, -1, packed_in);
  const Tensor out = place(c.n_queries, -1, packed_in);
  const Tensor dq = place(c.n_queries, 0, packed_out);
  const Tensor dk = place(c.n_keys, 1, packed_out);
  const Tensor dv = place(c.n_keys, 2, packed_out);
  q.copy_from(inputs.q.to(device));
  k.copy_from(inputs.k.to(device));
  v.copy_from(inputs.v.to(device));
  gradient.copy_from(inputs.gradient.to(device));
  const Guarded sums({c.batch * c.heads * c.n_queries + 64}, wide, device);
  const Tensor log_sum = sums.base()
                             .slice(0, 32, 32 + c.batch * c.heads * c.n_queries)
                             .reshape({c.batch, c.heads, c.n_queries});
  Tensor context;
  kernels::Operand limits;
  if (!c.context.empty()) {
    context = Tensor::from(std::span<const std::int64_t>(c.context), {c.batch}).to(device);
    limits = operand(context, stream);
  }
  const auto of = [&](const Tensor& x) { return operand(x, stream); };
  kernels::attention(stream, how, of(q), of(k), of(v), limits, of(out), of(log_sum));
  how.path = gradient_path;
  kernels::attention_gradient(stream, how, of(q), of(k), of(v), limits, of(out), of(log_sum),
                              of(gradient), of(dq), of(dk), of(dv));
  const auto kept = [](const Tensor& x) { return x.to(Device::cpu()).clone(); };
  AttentionResults results{kept(out), kept(log_sum), kept(dq), kept(dk), kept(dv)};

  const std::vector<Tensor> all{q, k, v, gradient, out, dq, dk, dv};
  if (packed) {
    packed_in.check({q, k, v}, c.name());
    packed_out.check({dq, dk, dv}, c.name());
    memory[0].check({gradient}, c.name());
    memory[1].check({out}, c.name());
  } else {
    for (std::size_t i = 0; i < all.size(); ++i) memory[i].check({all[i]}, c.name());
  }
  sums.check({log_sum}, c.name());
  return results;
}

inline AttentionResults run_attention(
    const AttentionCase& c, const AttentionInputs& inputs, Device device,
    kernels::AttentionPath path = kernels::AttentionPath::automatic) {
  return run_attention(c, inputs, device, path, path);
}

// Tolerance: `epsilon`, the dtype's rounding error, relative to the value and to intermediate
// values, which tensor cores round too.
inline void expect_near(const Tensor& got, const Tensor& want, double epsilon,
                        const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.to(DType::f64).to_vector<double>();
  const auto b = want.to(DType::f64).to_vector<double>();
  double largest = 1;
  double squares = 0;
  double errors = 0;
  for (double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double error = std::fabs(a[i] - b[i]);
    ASSERT_TRUE(error <= 3 * epsilon * (std::fabs(b[i]) + largest))
        << what << ": element " << i << " of " << a.size() << " is " << a[i] << ", expected "
        << b[i];
    squares += b[i] * b[i];
    errors += error * error;
  }
  ASSERT_LE(std::sqrt(errors),
            2 * epsilon * std::sqrt(squares + static_cast<double>(a.size()) * 0.01))
      << what << ": the root mean square error is too large";
}

inline double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-13;
    case DType::f32: return 2e-6;
    case DType::f16: return 1.0 / 1024;
    default: return 1.0 / 128;
  }
}

inline void expect_results(const AttentionResults& got, const AttentionResults& want, DType dtype,
                           const std::string& what) {
  const double epsilon = epsilon_of(dtype);
  expect_near(got.out, want.out, epsilon, what + ": out");
  // The statistics are f32, from the same rounded inputs on both sides.
  expect_near(got.log_sum, want.log_sum, dtype == DType::f64 ? epsilon : 1e-5, what + ": log_sum");
  expect_near(got.q_gradient, want.q_gradient, epsilon, what + ": gradient of q");
  expect_near(got.k_gradient, want.k_gradient, epsilon, what + ": gradient of k");
  expect_near(got.v_gradient, want.v_gradient, epsilon, what + ": gradient of v");
}

inline void expect_same_results(const AttentionResults& a, const AttentionResults& b,
                                const std::string& what) {
  expect_same_bytes(a.out, b.out, what + ": out");
  expect_same_bytes(a.log_sum, b.log_sum, what + ": log_sum");
  expect_same_bytes(a.q_gradient, b.q_gradient, what + ": gradient of q");
  expect_same_bytes(a.k_gradient, b.k_gradient, what + ": gradient of k");
  expect_same_bytes(a.v_gradient, b.v_gradient, what + ": gradient of v");
}

}  // namespace causeway
