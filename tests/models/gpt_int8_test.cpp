// GPT models with matrices of 8 bits: rounding, text generation, and logits with activations of 8
// bits.
#include "causeway/models/gpt_int8.h"

#include "causeway/runtime/transfer.h"
#include "tests/models/small_gpt.h"
#include "tests/tensor/devices.h"

namespace causeway {
namespace {

GptDecoder decoder_int8(Gpt& model) {
  return {model, 1, 0, std::make_shared<models::GptInt8>(model)};
}

TEST(Quantize, RoundsToHalfAStep) {
  const Tensor matrix = Generator(2).normal({9, 33});
  matrix.select(0, 4).copy_from(zeros({33}));
  const auto rounded = models::quantize_rows(matrix);
  const Tensor back = models::dequantize(rounded, DType::f32);
  const auto scales = numbers(rounded.scales);
  const auto a = numbers(matrix);
  const auto b = numbers(back);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE(std::abs(a[i] - b[i]), 0.5001 * scales[i / 33]) << i;
  }
  EXPECT_EQ(scales[4], 0);
  const auto again = models::quantize_rows(back);
  EXPECT_EQ(numbers(again.values), numbers(rounded.values));
}

TEST(Quantize, GeneratesLikeTheWholeModel) {
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const auto model = make(config);
    const auto whole = GptDecoder(*model, 1).generate({{5, 6}}, greedy_options(6))[0];
    EXPECT_EQ(whole[0], decoder_int8(*model).generate({{5, 6}}, greedy_options(6))[0][0]);
  }
}

void expect_int8_logits(Device device) {
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const auto model = make(config, device);
    const Tensor tokens = random_tokens(config, 2, 20).to(device);
    const models::GptInt8 rounded(*model);
    const Tensor whole = model->logits(tokens);
    const double change = largest_difference(rounded.logits(tokens), whole);
    const auto all = numbers(whole);
    EXPECT_GT(change, 0);
    EXPECT_LT(change, 0.06 * *std::max_element(all.begin(), all.end()));
  }
}

TEST(Quantize, RoundedActivationsChangeLogitsLittle) { expect_int8_logits(Device::cpu()); }

TEST(GpuQuantize, LogitsAgreeWithTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  GptConfig config = tiny();
  config.vocabulary = 64;
  const auto cpu = make(config);
  const auto cuda = make(config, Device::cuda());
  const Tensor tokens = random_tokens(config, 4, 24);
  const Tensor here = models::GptInt8(*cpu).logits(tokens);
  ASSERT_TRUE(models::GptInt8(*cuda).takes(96));
  const Tensor there = models::GptInt8(*cuda).logits(tokens.to(Device::cuda()));
  // A value that is rounded to the next integer elsewhere changes a logit by part of a step.
  const auto all = numbers(here);
  EXPECT_LT(largest_difference(here, there), 0.02 * *std::max_element(all.begin(), all.end()));
}

TEST(GpuQuantize, LongPromptsUseTheRoundedMatrices) {
  CAUSEWAY_REQUIRE_GPU();
  GptConfig config = tiny();
  config.length = 128;
  const auto model = make(config, Device::cuda());
  std::vector<std::int64_t> prompt;
  for (std::int64_t i = 0; i < 100; ++i) prompt.push_back(i * i % config.vocabulary);
  const auto whole = GptDecoder(*model, 1).generate({prompt}, greedy_options(6))[0];
  EXPECT_EQ(whole[0], decoder_int8(*model).generate({prompt}, greedy_options(6))[0][0]);
}

TEST(GpuGptDecoder, Int8AndHalfTypes) {
  CAUSEWAY_REQUIRE_GPU();
  const auto options = greedy_options(few_cases() ? 1 : 6);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const auto model = make(tiny(), Device::cuda(), dtype);
    const auto one = GptDecoder(*model, 1).generate({{5, 6}}, options)[0];
    const auto rounded = decoder_int8(*model).generate({{5, 6}}, options)[0];
    const auto several = GptDecoder(*model, 2).generate({{5, 6}, {5, 6}}, options);
    EXPECT_EQ(one[0], rounded[0]);
    EXPECT_EQ(one[0], several[0][0]);
    EXPECT_EQ(several[0], several[1]);
  }
}

// The product of the head takes several rounds. A row at another place would differ by more than
// rounding.
TEST(GpuGptDecoder, Int8HeadOfManyRows) {
  CAUSEWAY_REQUIRE_GPU();
  GptConfig config = tiny();
  config.vocabulary = 30011;
  for (const std::int64_t heads : {4, 12, 16}) {
    config.heads = heads;
    config.width = heads == 4 ? 32 : 64 * heads;  // one warp per row, or two
    const auto model = make(config, Device::cuda());
    auto decoder = decoder_int8(*model);
    ASSERT_NE(decoder.fused(), nullptr);
    decoder.generate({{5}}, greedy_options(1));
    std::vector<float> found(static_cast<std::size_t>(config.vocabulary));
    transfer(found.data(), Device::cpu(), decoder.fused()->logits, Device::cuda(),
             found.size() * sizeof(float), current_stream(Device::cuda()));
    const autograd::NoGrad no_grad;
    const Tensor ids = Tensor::from<std::int64_t>(GptDecoder::Tokens{5}, {1, 1}, Device::cuda());
    const auto expected = numbers(model->logits(ids).select(1, -1));
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(found[i]), expected[i], 0.1 * largest) << "row " << i;
    }
  }
}

}  // namespace
}  // namespace causeway
