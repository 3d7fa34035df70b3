// Dropout: the mask defined in its header, and equal bytes on the GPU.
#include "causeway/kernels/dropout/dropout.h"

#include "causeway/random/philox.h"
#include "tests/kernels/guarded.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway {
namespace {

using kernels::Operand;
using kernels::RandomKey;

Tensor dropout_on(Device device, RandomKey key, std::int64_t step, double probability,
                  const Tensor& x, std::int64_t shift = 0) {
  const Tensor steps = full({1}, step, DType::i64, device);
  const Guarded out(x.numel(), x.dtype(), device, shift);
  kernels::dropout(current_stream(device), key, step != 0 ? operand_of(steps) : Operand{},
                   probability, operand_of(placed(x, device, shift)), out.operand());
  return out.take("dropout");
}

TEST(Dropout, MaskComesFromPhiloxWords) {
  Generator generator(1);
  const RandomKey key = {12345, 7};
  for (std::int64_t step : {0, 3}) {
    const Tensor x = generator.normal({1003});
    const auto values = x.to_vector<float>();
    const auto found = dropout_on(Device::cpu(), key, step, 0.3, x).to_vector<float>();
    const auto threshold = static_cast<std::uint32_t>(std::llround(0.3 * 4294967296.0));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t stream = 7 + (static_cast<std::uint64_t>(step) << 32);
      const std::uint32_t word = philox(12345, stream, i / 4).word[i % 4];
      ASSERT_EQ(found[i], word >= threshold ? values[i] * static_cast<float>(1 / 0.7) : 0.0f) << i;
    }
  }
}

TEST(Dropout, ProbabilityZeroAndOne) {
  Generator generator(2);
  for (DType dtype : kFloating) {
    const Tensor x = generator.normal({1003}, 0, 1, dtype);
    expect_same_bytes(dropout_on(Device::cpu(), {1, 2}, 0, 0.0, x), x, "probability 0");
    const Tensor nothing = zeros({1003}, dtype);
    expect_same_bytes(dropout_on(Device::cpu(), {1, 2}, 0, 1.0, x), nothing, "probability 1");
  }
}

TEST(Dropout, DropRateMatchesProbability) {
  const Tensor x = ones({1'000'000});
  double kept = 0;
  for (float value : dropout_on(Device::cpu(), {3, 4}, 5, 0.25, x).to_vector<float>()) {
    kept += value != 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept / 1e6, 0.75, 0.003);
}

TEST(Dropout, DropsNaN) {
  const Tensor x = full({4096}, std::nan(""));
  const auto values = dropout_on(Device::cpu(), {3, 4}, 0, 0.5, x).to_vector<float>();
  EXPECT_GT(std::count(values.begin(), values.end(), 0.0f), 1800);
}

TEST(GpuDropout, SameBitsAsCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(3);
  for (DType dtype : kFloating) {
    for (std::int64_t count :
         cases<std::int64_t>({0, 1, 3, 4, 5, 7, 8, 1003, 2048, 2049, 1'000'007}, {5, 1003, 2049})) {
      const Tensor x = generator.normal({count}, 0, 1, dtype);
      for (double probability : cases<double>({0.0, 0.1, 0.5, 1.0}, {0.1})) {
        for (std::int64_t step : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 20}) {
          for (std::int64_t shift : {0, 1}) {
            expect_same_bytes(
                dropout_on(kGpu, {99, 5}, step, probability, x, shift),
                dropout_on(Device::cpu(), {99, 5}, step, probability, x),
                fmt::format("{} {} by {} at step {}", to_string(dtype), count, probability, step));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace causeway
