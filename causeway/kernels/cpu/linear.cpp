// Products of linear layers on the CPU: OpenBLAS, then one pass over the result for what follows.
// Bound by arithmetic.
#include "causeway/kernels/cpu/rows.h"
#include "causeway/kernels/device/derivatives.h"
#include "causeway/kernels/device/functors.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/matmul.h"

namespace causeway::kernels::cpu {

namespace {

// Calls body(row, n_columns) for every row, threads sharing them.
template <class Body>
void for_each_line(const Operand& out, const Body& body) {
  const std::int64_t n_columns = out.shape[1];
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / n_columns);
  parallel_for(out.shape[0], grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row * n_columns, n_columns);
  });
}

template <class T>
void add_bias(const Operand& bias, const Operand& out) {
  if (bias.data == nullptr) return;
  const T* from = static_cast<const T*>(bias.data);
  for_each_line(out, [&](std::int64_t start, std::int64_t n_columns) {
    T* line = static_cast<T*>(out.data) + start;
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      line[i] = static_cast<T>(static_cast<Compute<T>>(line[i]) + static_cast<Compute<T>>(from[i]));
    }
  });
}

template <class T>
void add_bias_and_gelu(const Operand& bias, const Operand& aux, const Operand& out) {
  add_bias<T>(bias, out);
  for_each_line(out, [&](std::int64_t start, std::int64_t n_columns) {
    T* line = static_cast<T*>(out.data) + start;
    T* before = static_cast<T*>(aux.data) + start;
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      before[i] = line[i];
      line[i] = static_cast<T>(functors::GeluTanh()(static_cast<Compute<T>>(line[i])));
    }
  });
}

template <class T>
void multiply_by_slope(const Operand& aux, const Operand& out) {
  for_each_line(out, [&](std::int64_t start, std::int64_t n_columns) {
    T* line = static_cast<T*>(out.data) + start;
    const T* before = static_cast<const T*>(aux.data) + start;
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      line[i] = static_cast<T>(derivatives::GeluTanh()(static_cast<Compute<T>>(before[i]),
                                                       static_cast<Compute<T>>(line[i])));
    }
  });
}

}  // namespace

void linear(StreamView stream, Epilogue epilogue, const Operand& a, const Operand& b,
            const Operand& bias, const Operand& aux, const Operand& out, bool allow_tf32) {
  matmul(stream, a, b, out, allow_tf32);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (epilogue) {
      case Epilogue::none: return;
      case Epilogue::bias: return add_bias<T>(bias, out);
      case Epilogue::bias_gelu: return add_bias_and_gelu<T>(bias, aux, out);
      case Epilogue::gelu_gradient: return multiply_by_slope<T>(aux, out);
    }
  });
}

}  // namespace causeway::kernels::cpu
