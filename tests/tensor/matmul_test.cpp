// Matrix products: GPU against CPU, and with an added matrix.
#include "causeway/core/error.h"
#include "causeway/tensor/matmul.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

namespace causeway {
namespace {

TEST(GpuParity, Matmul) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(13);
  const std::pair<Shape, Shape> cases[] = {{{1, 1}, {1, 1}},
                                           {{31, 33}, {33, 17}},
                                           {{128, 64}, {64, 256}},
                                           {{5, 31, 7}, {7, 9}},
                                           {{4, 3, 16, 8}, {3, 8, 24}},
                                           {{2, 1, 8, 8}, {5, 8, 8}},
                                           {{9}, {9, 4}},
                                           {{6, 9}, {9}},
                                           {{1003, 5}, {5, 1}}};
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [left, right] : cases) {
      const Tensor a = draw(generator, left, dtype);
      const Tensor b = draw(generator, right, dtype);
      const auto what =
          fmt::format("{} {} {}", to_string(dtype), to_string(left), to_string(right));
      expect_close(matmul(a.to(kGpu), b.to(kGpu)), matmul(a, b), what, 16);
      if (left.size() < 2 || right.size() < 2) continue;
      const Tensor a_columns = a.transpose().contiguous();
      const Tensor b_columns = b.transpose().contiguous();
      expect_close(matmul(a_columns.to(kGpu).transpose(), b_columns.to(kGpu).transpose()),
                   matmul(a, b), what + " transposed", 16);
      if (a.size(-1) < 3) continue;
      expect_close(matmul(a.to(kGpu).slice(-1, 1), b.to(kGpu).slice(-2, 1)),
                   matmul(a.slice(-1, 1), b.slice(-2, 1)), what + " offset", 16);
      expect_close(matmul(a.to(kGpu).slice(-1, 0, Tensor::kEnd, 2),
                          b.to(kGpu).slice(-2, 0, Tensor::kEnd, 2)),
                   matmul(a.slice(-1, 0, Tensor::kEnd, 2), b.slice(-2, 0, Tensor::kEnd, 2)),
                   what + " stepped", 16);
    }
  }
  const Tensor a = generator.normal({200, 300});
  const Tensor b = generator.normal({300, 100});
  set_allow_tf32(true);
  expect_close(matmul(a.to(kGpu), b.to(kGpu)), matmul(a, b), "tf32", 2000);
  set_allow_tf32(false);
}

// alpha * a b + beta * added against separate operations in f64.
void expect_matmul_add(Device device) {
  Generator generator(19);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{5, 7, 3}, Shape{64, 32, 96}, Shape{33, 1, 2}}) {
      const auto make = [&](const Shape& of) { return generator.normal(of, 0, 1, dtype); };
      const Tensor a = make({3, shape[0], shape[1]});
      const Tensor b = make({3, shape[2], shape[1]}).transpose();
      const Tensor added = make({3, shape[0], shape[2]});
      const Tensor want = (matmul(a.to(DType::f64), b.to(DType::f64)) * Scalar(-1.5) +
                           added.to(DType::f64) * Scalar(0.25))
                              .to(dtype);
      const Tensor got = matmul_add(-1.5, a.to(device), b.to(device), 0.25, added.to(device));
      expect_close(got, want, std::string(to_string(dtype)) + " " + to_string(shape), 10);
    }
  }
}

TEST(Tensor, MatmulAdd) {
  expect_matmul_add(Device::cpu());
  EXPECT_THROW(matmul_add(1, ones({2, 3}), ones({3, 4}), 1, ones({4, 2})), Error);
  EXPECT_THROW(matmul_add(1, ones({2, 3}), ones({3, 4}), 1, ones({2, 4}, DType::f64)), Error);
  expect_close(matmul_add(1, ones({2, 0}), ones({0, 4}), 2, ones({2, 4})), full({2, 4}, 2.0),
               "empty inner dimension");
}

TEST(GpuParity, MatmulAdd) {
  CAUSEWAY_REQUIRE_GPU();
  expect_matmul_add(Device::cuda(0));
}

}  // namespace
}  // namespace causeway
