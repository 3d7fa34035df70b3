// Text generation on the GPU: draws against the CPU, and long contexts against the whole forward
// pass.
#include "causeway/kernels/decode/decode_model.h"
#include "causeway/tensor/operand.h"
#include "tests/models/small_gpt.h"
#include "tests/tensor/devices.h"

#include <limits>

namespace causeway {
namespace {

// The tokens drawn from logits (batch, columns), of which the first n_classes count.
std::vector<std::int64_t> draws(const Tensor& logits, const kernels::SampleTokens& how,
                                Device device) {
  const std::int64_t batch = logits.size(0);
  const Tensor rows = logits.to(device);
  const Tensor tokens = zeros({batch, 4}, DType::i64, device);
  const Tensor lengths = zeros({batch}, DType::i64, device);
  const StreamView stream = current_stream(device);
  // The third draw is the last that has a place.
  for (int i = 0; i < 4; ++i) {
    kernels::sample_tokens(stream, how, operand(rows, stream), operand(tokens, stream),
                           operand(lengths, stream));
  }
  auto made = tokens.to(Device::cpu()).to_vector<std::int64_t>();
  const auto ends = lengths.to(Device::cpu()).to_vector<std::int64_t>();
  made.insert(made.end(), ends.begin(), ends.end());
  return made;
}

std::vector<kernels::SampleTokens> filters() {
  std::vector<kernels::SampleTokens> all(7);
  all[1].temperature = 0;
  all[2].temperature = 0.7f;
  all[2].seed = 9;
  all[3].top_k = 50;
  all[4].top_p = 0.9f;
  all[5].min_p = 0.05f;
  all[6].top_k = 100;
  all[6].top_p = 0.8f;
  all[6].min_p = 0.01f;
  return cases(all, {all[2], all[6]});
}

TEST(GpuSampleTokens, DrawsTheTokensOfTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  for (const std::int64_t n : cases<std::int64_t>({1, 31, 257, 50257, 300001}, {31, 50257})) {
    for (const std::int64_t batch : cases<std::int64_t>({1, 3, 40, 65}, {1})) {
      if (n > 50257 && batch > 3) continue;
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const std::int64_t columns = (n + 63) / 64 * 64;
        const Tensor logits = Generator(3).normal({batch, columns}, 0, 3).to(dtype);
        for (kernels::SampleTokens how : filters()) {
          how.n_classes = n;
          EXPECT_EQ(draws(logits, how, Device::cuda()), draws(logits, how, Device::cpu()))
              << n << " classes, " << batch << " sequences, temperature " << how.temperature
              << ", top_k " << how.top_k << ", top_p " << how.top_p << ", min_p " << how.min_p;
        }
      }
    }
  }
}

TEST(GpuSampleTokens, DrawsFromUnusualLogitsLikeTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int64_t kClasses = 301;
  // What a row is filled with; in rows 4 to 7 of 8 every third logit is -1.
  const std::vector<float> fills = {kNan, -kInf, 0, kInf, kNan, -kInf, 0, 3e38f};
  for (const std::int64_t batch : cases<std::int64_t>({8, 40, 72}, {40})) {
    std::vector<float> values;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < kClasses; ++i) {
        const bool differs = b % 8 >= 4 && i % 3 == 2;
        values.push_back(differs ? -1.0f : fills[static_cast<std::size_t>(b % 8)]);
      }
    }
    const Tensor logits = Tensor::from<float>(values, {batch, kClasses});
    for (kernels::SampleTokens how : filters()) {
      how.n_classes = kClasses;
      EXPECT_EQ(draws(logits, how, Device::cuda()), draws(logits, how, Device::cpu()))
          << batch << " sequences, temperature " << how.temperature << ", top_k " << how.top_k
          << ", top_p " << how.top_p << ", min_p " << how.min_p;
    }
  }
}

// The next token by the whole forward pass.
std::int64_t next_token(Gpt& model, const GptDecoder::Tokens& tokens) {
  const autograd::NoGrad no_grad;
  const Tensor ids = Tensor::from<std::int64_t>(tokens, {1, std::ssize(tokens)}, Device::cuda());
  const auto logits = numbers(model.logits(ids).select(1, -1));
  return std::ranges::max_element(logits) - logits.begin();
}

GptConfig longer(GptConfig config) {
  config.length = 1400;
  return config;
}

GptDecoder::Tokens prompt_of(std::int64_t length) {
  GptDecoder::Tokens prompt;
  for (std::int64_t i = 0; i < length; ++i) prompt.push_back((i * i + 3 * i) % 37);
  return prompt;
}

TEST(GpuGptDecoder, LongContexts) {
  CAUSEWAY_REQUIRE_GPU();
  GptConfig wide_heads = longer(tiny());
  wide_heads.width = 128;  // heads of 32: 64 positions at a time in f32
  GptConfig long_rows = longer(tiny());
  long_rows.hidden = 8208;
  const std::vector<GptConfig> configs = {longer(tiny()), longer(tiny_llama()), wide_heads,
                                          long_rows};
  for (const GptConfig& config : configs) {
    const auto model = make(config, Device::cuda());
    for (const std::int64_t length : {2, 63, 64, 65, 128, 257, 511, 1030, 1399}) {
      const bool is_first = &config == &configs.front();
      if (few_cases() && length != 65 && !(is_first && length == 257)) continue;
      const auto prompt = prompt_of(length);
      const std::int64_t expected = next_token(*model, prompt);
      GptDecoder decoder(*model, 1);
      ASSERT_NE(decoder.fused(), nullptr);
      EXPECT_EQ(decoder.generate({prompt}, greedy_options(1))[0][0], expected) << length;
      const auto two = GptDecoder(*model, 2).generate({prompt, prompt}, greedy_options(1));
      EXPECT_EQ(two[0][0], expected) << length;
      EXPECT_EQ(two[1][0], expected) << length;
    }
  }
}

TEST(GpuGptDecoder, HeadsOfAnySize) {
  CAUSEWAY_REQUIRE_GPU();
  GptConfig config = longer(tiny());
  config.width = 72;  // heads of 24
  config.heads = 3;
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto model = make(config, Device::cuda(), dtype);
    for (const std::int64_t length : {1, 30, 300}) {
      if (few_cases() && length != 30) continue;
      const auto prompt = prompt_of(length);
      const std::int64_t expected = next_token(*model, prompt);
      EXPECT_EQ(GptDecoder(*model, 1).generate({prompt}, greedy_options(1))[0][0], expected);
      EXPECT_EQ(GptDecoder(*model, 2).generate({prompt, prompt}, greedy_options(1))[1][0],
                expected);
    }
  }
}

TEST(GpuGptDecoder, TraceHasAllParts) {
  CAUSEWAY_REQUIRE_GPU();
  const auto model = make(tiny(), Device::cuda());
  GptDecoder decoder(*model, 1);
  ASSERT_NE(decoder.fused(), nullptr);
  const int n_marks = kernels::decode_trace_marks(decoder.fused()->n_layers);
  const int n_blocks = kernels::cuda::decode_blocks(Device::cuda());
  const Tensor trace = zeros({n_blocks, n_marks}, DType::i64, Device::cuda());
  synchronize(Device::cuda());
  decoder.fused()->trace = reinterpret_cast<std::uint64_t*>(trace.data());
  decoder.generate({{1, 2, 3}}, greedy_options(5));
  const auto marks = trace.to(Device::cpu()).to_vector<std::int64_t>();
  for (int b = 0; b < n_blocks; ++b) {
    const auto line = marks.begin() + std::int64_t{b} * n_marks;
    EXPECT_GT(line[0], 0);
    EXPECT_TRUE(std::is_sorted(line, line + n_marks - 2)) << "block " << b;
    EXPECT_LE(line[n_marks - 2], line[n_marks - 1]);
  }
}

}  // namespace
}  // namespace causeway
