// Large products of 16-bit types on a GPU, at the shapes for which the algorithm is chosen by its
// configuration or an epilogue is fused, against products in f32 with separate epilogues.
#include "causeway/kernels/activation/activation.h"
#include "causeway/kernels/matmul/matmul.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway {
namespace {

using kernels::Epilogue;

struct Case {
  Epilogue epilogue;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool transposed_b;
};

std::string name_of(const Case& of, DType dtype) {
  return fmt::format("{} {} {} x {} x {}", kernels::to_string(of.epilogue), to_string(dtype), of.m,
                     of.n, of.k);
}

// The operands of a product, and its result by `linear`.
struct Product {
  Case of;
  Tensor a;
  Tensor b;  // (k, n), perhaps a transposed view
  Tensor bias;
  Tensor aux;
  Tensor out;

  Product(const Case& given, DType dtype, Generator& generator) : of(given) {
    const auto draw = [&](const Shape& shape, double size) {
      return generator.normal(shape, 0, size, dtype).to(kGpu);
    };
    a = draw({of.m, of.k}, 1);
    const double size = 1 / std::sqrt(static_cast<double>(of.k));
    b = of.transposed_b ? draw({of.n, of.k}, size).transpose() : draw({of.k, of.n}, size);
    bias = draw({of.n}, 1);
    aux = of.epilogue == Epilogue::gelu_gradient ? draw({of.m, of.n}, 1)
                                                 : Tensor::empty({of.m, of.n}, dtype, kGpu);
  }

  void run() {
    const StreamView stream = current_stream(kGpu);
    const bool has_bias = of.epilogue == Epilogue::bias || of.epilogue == Epilogue::bias_gelu;
    const bool has_aux = has_gelu() || of.epilogue == Epilogue::gelu_gradient;
    out = Tensor::empty({of.m, of.n}, a.dtype(), kGpu);
    kernels::linear(stream, of.epilogue, operand(a, stream), operand(b, stream),
                    has_bias ? operand(bias, stream) : kernels::Operand(),
                    has_aux ? operand(aux, stream) : kernels::Operand(), operand(out, stream),
                    false);
  }

  // Whether the product goes through GELU, and `aux` receives it before that.
  bool has_gelu() const {
    return of.epilogue == Epilogue::gelu || of.epilogue == Epilogue::bias_gelu;
  }

  // In f32, from a plain product.
  Tensor before_gelu() const {
    const Tensor product = matmul(a.to(DType::f32), b.to(DType::f32));
    return of.epilogue == Epilogue::bias || of.epilogue == Epilogue::bias_gelu
               ? product + bias.to(DType::f32)
               : product;
  }

  Tensor expected() const {
    const Tensor product = before_gelu();
    if (has_gelu()) return unary(UnaryOp::gelu_tanh, product);
    if (of.epilogue != Epilogue::gelu_gradient) return product;
    const StreamView stream = current_stream(kGpu);
    Tensor result = Tensor::empty(product.shape(), DType::f32, kGpu);
    kernels::unary_gradient(stream, UnaryOp::gelu_tanh, operand(aux.to(DType::f32), stream),
                            operand(product, stream), operand(result, stream));
    return result;
  }
};

// Compares on the GPU; `want` is f32 with values of about 1.
void expect_rounded(const Tensor& got, const Tensor& want, const std::string& what) {
  const Tolerance allowed = tolerance(got.dtype());
  const auto size = [](const Tensor& x) { return unary(UnaryOp::absolute, x); };
  const Tensor limit = (size(want) + Scalar(1.0)) * Scalar(2 * allowed.relative);
  const double worst = max(size(got.to(DType::f32) - want) / limit).item();
  EXPECT_LE(worst, 1) << what;  // also if NaN
  EXPECT_GT(max(size(want)).item(), 0.5) << what;
}

void expect_product(const Case& of, DType dtype, Generator& generator) {
  const std::string what = name_of(of, dtype);
  Product product(of, dtype, generator);
  product.run();
  expect_rounded(product.out, product.expected(), what);
  if (product.has_gelu()) {
    expect_rounded(product.aux, product.before_gelu(), what + ", aux");
  }
  const Tensor first = product.out;
  product.run();
  expect_same_bytes(product.out, first, what + ", again");
}

TEST(GpuLinear, LargeProducts) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(31);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const Case& of :
         {Case{Epilogue::none, 16384, 768, 768, false},
          Case{Epilogue::none, 16384, 3072, 768, false},
          Case{Epilogue::none, 16400, 768, 520, true}, Case{Epilogue::none, 8192, 16384, 512, true},
          Case{Epilogue::bias, 16384, 768, 768, true}, Case{Epilogue::bias, 16384, 2304, 768, true},
          Case{Epilogue::bias_gelu, 16384, 1536, 768, true},
          Case{Epilogue::gelu, 16384, 1536, 768, true},
          Case{Epilogue::gelu, 5000, 100, 33, true}}) {
      expect_product(of, dtype, generator);
    }
  }
}

// Products of 64 MiB and more with long sums are fused with the gradient of GELU; others, and those
// of an odd width, have a second pass.
TEST(GpuLinear, GeluGradient) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(37);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const Case& of : {Case{Epilogue::gelu_gradient, 16384, 3072, 768, false},
                           Case{Epilogue::gelu_gradient, 16392, 2056, 520, true},
                           Case{Epilogue::gelu_gradient, 16392, 2056, 72, true},
                           Case{Epilogue::gelu_gradient, 16384, 2049, 64, false},
                           Case{Epilogue::gelu_gradient, 1024, 256, 96, false}}) {
      expect_product(of, dtype, generator);
    }
  }
}

}  // namespace
}  // namespace causeway
