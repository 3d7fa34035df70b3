// Autocast: which operations convert, and that gradients reach the f32 leaves.
#include "causeway/autograd/autocast.h"

#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/normalize.h"
#include "causeway/autograd/reduce.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "tests/tensor/devices.h"

namespace causeway::autograd {
namespace {

void expect_types(Device device) {
  Generator generator(3);
  Tensor weight = generator.normal({5, 4}, 0, 1, DType::f32, device);
  set_requires_grad(weight, true);
  const Tensor x = generator.normal({3, 4}, 0, 1, DType::f32, device);
  const Tensor classes = full({3}, 2, DType::i64, device);
  Tensor loss;
  {
    const Autocast on(DType::bf16);
    const Tensor y = linear(x, weight, {});
    EXPECT_EQ(y.dtype(), DType::bf16);
    EXPECT_EQ(matmul(x, x.transpose()).dtype(), DType::bf16);
    EXPECT_EQ(matmul(x.to(DType::f64), x.to(DType::f64).transpose()).dtype(), DType::f64);
    EXPECT_EQ(softmax(y, -1).dtype(), DType::f32);
    EXPECT_EQ(layer_norm(y, {}, {}, 1e-5).dtype(), DType::f32);
    loss = cross_entropy(y, classes, {});
    EXPECT_EQ(loss.dtype(), DType::f32);
    const Autocast off(std::nullopt);
    EXPECT_EQ(linear(x, weight, {}).dtype(), DType::f32);
  }
  EXPECT_FALSE(autocast_type().has_value());
  backward(loss);
  EXPECT_EQ(gradient_of(weight)->dtype(), DType::f32);
}

TEST(Autocast, ConvertsProductsDownAndLossesUp) { expect_types(Device::cpu()); }

TEST(GpuAutocast, ConvertsProductsDownAndLossesUp) {
  CAUSEWAY_REQUIRE_GPU();
  expect_types(Device::cuda());
}

TEST(Autocast, TakesTypesOf16Bits) { EXPECT_THROW(const Autocast on(DType::f32), Error); }

}  // namespace
}  // namespace causeway::autograd
