// Products of linear layers on the CPU, with their epilogue applied to rows just computed. Bound by
// arithmetic.
#include "causeway/kernels/matmul/blocked_product_cpu.h"
#include "causeway/kernels/matmul/power_of_two.h"
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/matmul/matmul.h"

#include <type_traits>

namespace causeway::kernels::cpu {

namespace {

// gelu_tanh(x) = x * sigmoid(2 u), with u the argument of tanh: one exponential and one division.
// The exponent is clamped to normal numbers, which does not change the result.
template <class C>
struct Gelu {
  C x, squared, e, sigmoid;

  CAUSEWAY_INLINE explicit Gelu(C at) : x(at), squared(at * at) {
    const C power = x * fma(C(-kSteepness * kLog2OfE * kCube), squared, C(-kSteepness * kLog2OfE));
    if constexpr (std::is_same_v<C, float>) {
      e = power_of_two_within(elementary::at_most(elementary::at_least(power, -125), 125));
    } else {
      e = power_of_two(power < C(1000) ? power : C(1000));
    }
    sigmoid = C(1) / (C(1) + e);
  }
  CAUSEWAY_INLINE C value() const { return x * sigmoid; }
  CAUSEWAY_INLINE C slope() const {
    const C steepness = fma(C(3 * kSteepness * kCube), squared, C(kSteepness));
    return fma(x * steepness * sigmoid, e * sigmoid, sigmoid);
  }

 private:
  static constexpr double kSteepness = 2 * 0.79788456080286535588;  // 2 sqrt(2 / pi)
  static constexpr double kCube = 0.044715;

  CAUSEWAY_INLINE static C fma(C a, C b, C c) {
    if constexpr (std::is_same_v<C, float>) return elementary::fma(a, b, c);
    return a * b + c;
  }
};

// Rows [begin, end) of the result and of `aux`, in elements.
template <class T>
struct Run {
  std::int64_t begin, end;
  T* out;
  T* aux;
};

template <class T>
void add_bias(const Run<T>& run, const Operand& bias, std::int64_t n_columns) {
  using C = Compute<T>;
  const T* from = static_cast<const T*>(bias.data);
  if (from == nullptr) return;
  for (T* line = run.out + run.begin; line < run.out + run.end; line += n_columns) {
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      line[i] = static_cast<T>(static_cast<C>(line[i]) + static_cast<C>(from[i]));
    }
  }
}

template <class T>
void apply_gelu(const Run<T>& run) {
  if (run.aux == nullptr) {
#pragma omp simd
    for (std::int64_t i = run.begin; i < run.end; ++i) {
      run.out[i] = static_cast<T>(Gelu(static_cast<Compute<T>>(run.out[i])).value());
    }
    return;
  }
#pragma omp simd
  for (std::int64_t i = run.begin; i < run.end; ++i) {
    run.aux[i] = run.out[i];
    run.out[i] = static_cast<T>(Gelu(static_cast<Compute<T>>(run.aux[i])).value());
  }
}

template <class T>
void multiply_by_slope(const Run<T>& run) {
  using C = Compute<T>;
#pragma omp simd
  for (std::int64_t i = run.begin; i < run.end; ++i) {
    run.out[i] =
        static_cast<T>(static_cast<C>(run.out[i]) * Gelu(static_cast<C>(run.aux[i])).slope());
  }
}

}  // namespace

void linear(StreamView stream, Epilogue epilogue, const Operand& a, const Operand& b,
            const Operand& bias, const Operand& aux, const Operand& out, bool allow_tf32) {
  const std::int64_t n_columns = out.shape[1];
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto after = [&](std::int64_t first, std::int64_t last) {
      const Run<T> run{first * n_columns, last * n_columns, static_cast<T*>(out.data),
                       static_cast<T*>(aux.data)};
      switch (epilogue) {
        case Epilogue::none: return;
        case Epilogue::bias: return add_bias(run, bias, n_columns);
        case Epilogue::gelu: return apply_gelu(run);
        case Epilogue::bias_gelu: add_bias(run, bias, n_columns); return apply_gelu(run);
        case Epilogue::gelu_gradient: return multiply_by_slope(run);
      }
    };
    if constexpr (std::is_same_v<T, float>) {
      const Bf16Kernels* bf16 = Bf16Products::kernels();
      if (bf16 != nullptr && !matrix_layout(a).transposed) {
        return multiply_blocks(*bf16, matrix_layout(a), static_cast<const float*>(a.data),
                               matrix_layout(b), static_cast<const float*>(b.data),
                               static_cast<float*>(out.data), after);
      }
      const bool done = multiply_blocks(matrix_layout(a), static_cast<const float*>(a.data),
                                        matrix_layout(b), static_cast<const float*>(b.data), false,
                                        static_cast<float*>(out.data), after);
      if (done) return;
    }
    matmul(stream, a, b, out, allow_tf32);
    parallel_for(out.shape[0], kGrain / n_columns + 1, after);
  });
}

}  // namespace causeway::kernels::cpu
