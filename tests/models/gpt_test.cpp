// The GPT model: sizes, the chunked loss, recomputation, and text generation against the whole
// forward pass.
#include "causeway/models/gpt_decoder.h"

#include "causeway/autograd/linear_cross_entropy.h"
#include "causeway/core/error.h"
#include "causeway/models/gpt_file.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"
#include "tests/data/scratch.h"
#include "tests/models/small_gpt.h"
#include "tests/tensor/devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

namespace causeway {
namespace {

TEST(Gpt, ParameterCounts) {
  EXPECT_EQ(GptConfig::preset("gpt2").n_parameters(), 124'439'808);
  EXPECT_EQ(GptConfig::preset("gpt2-medium").n_parameters(), 354'823'168);
  EXPECT_EQ(GptConfig::preset("gpt2-large").n_parameters(), 774'030'080);
  EXPECT_EQ(GptConfig::preset("gpt2-xl").n_parameters(), 1'557'611'200);
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const std::int64_t padding = (config.padded_vocabulary() - config.vocabulary) * config.width *
                                 (config.tied_head ? 1 : 2);
    EXPECT_EQ(make(config)->n_parameters(), config.n_parameters() + padding);
  }
}

TEST(Gpt, RefusesBadSettingsAndTokens) {
  GptConfig config = tiny();
  config.heads = 3;
  EXPECT_THROW(Gpt{config}, Error);
  config = tiny();
  config.kv_heads = 3;
  EXPECT_THROW(Gpt{config}, Error);
  const double inf = std::numeric_limits<double>::infinity();
  for (const double epsilon : {0.0, -1e-5, 1e-40, 1.0, inf, std::nan("")}) {
    config = tiny();
    config.epsilon = epsilon;
    EXPECT_THROW(config.check(), Error) << epsilon;
  }
  for (const double base : {0.0, 0.5, -1e4, 1e12, inf, std::nan("")}) {
    config = tiny_llama();
    config.rotary_base = base;
    EXPECT_THROW(config.check(), Error) << base;
  }
  EXPECT_THROW(GptConfig::from_json(R"({"epsilon": 1e300})"), Error);
  const auto model = make(tiny());
  EXPECT_THROW(model->logits(random_tokens(tiny(), 1, 25)), Error);
  EXPECT_THROW(model->logits(zeros({2, 4})), Error);
}

// The mean loss and gradients of the whole product, for any size of the chunks.
TEST(Gpt, ChunkedLossEqualsWholeLoss) {
  Generator generator(3);
  const Tensor weight_values = generator.normal({64, 16}, 0, 1, DType::f64);
  const Tensor x_values = generator.normal({3, 50, 16}, 0, 1, DType::f64);
  const Tensor targets = generator.integers({3, 50}, 0, 60);
  targets.slice(1, 0, 7).copy_from(full({}, -100, DType::i64));
  std::vector<std::vector<double>> found;
  for (const std::int64_t chunk_bytes :
       {std::int64_t{64 * 8}, std::int64_t{64 * 8 * 13}, std::int64_t{1} << 24}) {
    Tensor x = x_values.clone();
    Tensor weight = weight_values.clone();
    autograd::set_requires_grad(x, true);
    autograd::set_requires_grad(weight, true);
    autograd::LinearCrossEntropyOptions options;
    options.n_classes = 60;
    options.chunk_bytes = chunk_bytes;
    const Tensor loss = autograd::linear_cross_entropy(x, weight, targets, options);
    autograd::backward(loss);
    std::vector<double> all = numbers(loss);
    for (const Tensor* leaf : {&x, &weight}) {
      const auto gradient = numbers(*autograd::gradient_of(*leaf));
      all.insert(all.end(), gradient.begin(), gradient.end());
    }
    found.push_back(all);
  }
  for (std::size_t k = 1; k < found.size(); ++k) {
    for (std::size_t i = 0; i < found[0].size(); ++i) {
      ASSERT_NEAR(found[0][i], found[k][i], 1e-12) << k << " " << i;
    }
  }
}

TEST(Gpt, RecomputedLayersGiveTheSameBits) {
  for (GptConfig config : {tiny(), tiny_llama()}) {
    std::vector<std::vector<double>> found;
    for (const auto recompute : {models::Recompute::none, models::Recompute::layers}) {
      config.recompute = recompute;
      const auto model = make(config);
      const Tensor tokens = random_tokens(config, 3, 17);
      autograd::backward(model->loss(tokens, tokens));
      found.emplace_back();
      for (const Tensor& parameter : model->parameters()) {
        const auto gradient = numbers(*autograd::gradient_of(parameter));
        found.back().insert(found.back().end(), gradient.begin(), gradient.end());
      }
    }
    EXPECT_EQ(found[0], found[1]);
  }
}

// Greedy tokens by the whole forward pass, without a cache.
GptDecoder::Tokens greedy(Gpt& model, GptDecoder::Tokens tokens, std::int64_t count) {
  const autograd::NoGrad no_grad;
  const std::size_t begin = tokens.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor ids =
        Tensor::from<std::int64_t>(tokens, {1, std::ssize(tokens)}, model.embedding().device());
    const auto logits = numbers(model.logits(ids).select(1, -1));
    tokens.push_back(std::ranges::max_element(logits) - logits.begin());
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end()};
}

void expect_cache_changes_nothing(Device device) {
  const std::vector<GptDecoder::Tokens> prompts = {{3, 1, 4, 1, 5}, {36}, {2, 7, 1, 8, 2, 8, 1, 8}};
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const auto model = make(config, device);
    const std::int64_t count = few_cases() ? 2 : 15;
    std::vector<GptDecoder::Tokens> expected;
    for (const auto& prompt : prompts) {
      expected.push_back(greedy(*model, prompt, count));
      EXPECT_EQ(GptDecoder(*model, 1).generate({prompt}, greedy_options(count))[0],
                expected.back());
    }
    EXPECT_EQ(GptDecoder(*model, 3).generate(prompts, greedy_options(count)), expected);
  }
}

TEST(GptDecoder, CacheChangesNothing) { expect_cache_changes_nothing(Device::cpu()); }
TEST(GpuGptDecoder, CacheChangesNothing) {
  CAUSEWAY_REQUIRE_GPU();
  expect_cache_changes_nothing(Device::cuda());
}

TEST(GptDecoder, EndsWhenFullOrAsked) {
  const auto model = make(tiny());
  GptDecoder decoder(*model, 2);
  auto made = decoder.generate({{1, 2, 3}, {4}}, greedy_options(100));
  EXPECT_EQ(made[0].size(), 21u);
  EXPECT_EQ(made[1].size(), 23u);
  std::int64_t received = 0;
  made = decoder.generate({{1, 2, 3}, {4}}, greedy_options(10),
                          [&](std::size_t sequence, std::span<const std::int64_t> tokens) {
                            received += std::ssize(tokens);
                            return sequence == 1;
                          });
  EXPECT_EQ(made[0].size(), 1u);
  EXPECT_EQ(made[1].size(), 10u);
  EXPECT_EQ(received, 11);
  EXPECT_THROW(decoder.generate({{1}}, greedy_options(1)), Error);
  EXPECT_THROW(decoder.generate({{1}, {}}, greedy_options(1)), Error);
  EXPECT_THROW(decoder.generate({{1}, {37}}, greedy_options(1)), Error);
  EXPECT_THROW(GptDecoder(*model, 1, 25), Error);
}

// Draws from given logits.
std::map<std::int64_t, int> draws(const std::vector<float>& logits, kernels::SampleTokens how,
                                  int count, Device device = Device::cpu()) {
  const auto n = static_cast<std::int64_t>(logits.size());
  how.n_classes = n;
  const Tensor rows = Tensor::from<float>(logits, {1, n}, device).expand({count, n}).contiguous();
  const Tensor tokens = zeros({count, 2}, DType::i64, device);
  const Tensor lengths = zeros({count}, DType::i64, device);
  const StreamView stream = current_stream(device);
  kernels::sample_tokens(stream, how, operand(rows, stream), operand(tokens, stream),
                         operand(lengths, stream));
  std::map<std::int64_t, int> found;
  for (const std::int64_t token :
       tokens.select(1, 1).contiguous().to(Device::cpu()).to_vector<std::int64_t>()) {
    ++found[token];
  }
  return found;
}

std::vector<std::int64_t> keys_of(const std::map<std::int64_t, int>& counts) {
  std::vector<std::int64_t> keys;
  for (const auto& [key, count] : counts) keys.push_back(key);
  return keys;
}

void expect_filters(Device device) {
  // Probabilities 0.1, 0.4, 0.3, 0.15, 0.05.
  std::vector<float> logits;
  for (const double p : {0.1, 0.4, 0.3, 0.15, 0.05})
    logits.push_back(static_cast<float>(std::log(p)));
  kernels::SampleTokens how;
  how.seed = 11;
  constexpr int kCount = 20000;
  const auto all = draws(logits, how, kCount, device);
  // Four standard deviations.
  EXPECT_NEAR(all.at(1), 0.4 * kCount, 4 * std::sqrt(0.24 * kCount));
  EXPECT_NEAR(all.at(4), 0.05 * kCount, 4 * std::sqrt(0.0475 * kCount));
  how.temperature = 0.5;  // probabilities squared: 0.16 / 0.285
  EXPECT_NEAR(draws(logits, how, kCount, device).at(1), 0.16 / 0.285 * kCount,
              4 * std::sqrt(0.25 * kCount));
  how.temperature = 1;
  how.top_k = 2;
  const auto two = draws(logits, how, kCount, device);
  EXPECT_EQ(keys_of(two), (std::vector<std::int64_t>{1, 2}));
  EXPECT_NEAR(two.at(1), 4.0 / 7 * kCount, 4 * std::sqrt(0.25 * kCount));
  how.top_k = 0;
  how.top_p = 0.69f;
  EXPECT_EQ(keys_of(draws(logits, how, 2000, device)), (std::vector<std::int64_t>{1, 2}));
  how.top_p = 0.71f;
  EXPECT_EQ(keys_of(draws(logits, how, 2000, device)), (std::vector<std::int64_t>{1, 2, 3}));
  how.top_p = 1;
  how.min_p = 0.3f;
  EXPECT_EQ(keys_of(draws(logits, how, 2000, device)), (std::vector<std::int64_t>{1, 2, 3}));
  how.temperature = 0;
  EXPECT_EQ(keys_of(draws(logits, how, 5, device)), (std::vector<std::int64_t>{1}));
  // Ties, infinities and NaN.
  const float inf = std::numeric_limits<float>::infinity();
  how = {};
  EXPECT_EQ(keys_of(draws({-inf, 2, std::nanf(""), 2, -inf}, how, 500, device)),
            (std::vector<std::int64_t>{1, 3}));
  how.temperature = 0;
  EXPECT_EQ(keys_of(draws({1, 3, 3}, how, 1, device)), (std::vector<std::int64_t>{1}));
}

TEST(GptDecoder, FiltersAndFrequencies) { expect_filters(Device::cpu()); }
TEST(GpuGptDecoder, FiltersAndFrequencies) {
  CAUSEWAY_REQUIRE_GPU();
  expect_filters(Device::cuda());
}

TEST(GptDecoder, DrawsDependOnTheSeed) {
  const auto model = make(tiny());
  GptDecoder decoder(*model, 1);
  models::GenerateOptions options;
  options.tokens = 20;
  const auto first = decoder.generate({{1, 2}}, options);
  EXPECT_EQ(decoder.generate({{1, 2}}, options), first);
  options.seed = 1;
  EXPECT_NE(decoder.generate({{1, 2}}, options), first);
  options.temperature = -1;
  EXPECT_THROW(decoder.generate({{1, 2}}, options), Error);
}

TEST(GptFile, SavesAndLoads) {
  const data_test::Scratch scratch;
  const auto path = scratch / "gpt.safetensors";
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const auto model = make(config);
    models::save_gpt(path, *model);
    const auto loaded = models::load_gpt(path);
    const Tensor tokens = random_tokens(config, 2, 9);
    EXPECT_EQ(largest_difference(model->logits(tokens), loaded->logits(tokens)), 0);
    models::save_gpt(path, *model, true);
    const auto rounded = models::load_gpt(path);
    EXPECT_EQ(rounded->config().to_json(), config.to_json());
    const double change = largest_difference(model->logits(tokens), rounded->logits(tokens));
    EXPECT_GT(change, 0);
    EXPECT_LT(change, 0.5);
  }
}

TEST(GpuGpt, AgreesWithTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  for (const GptConfig& config : {tiny(), tiny_llama()}) {
    const auto cpu = make(config);
    const auto cuda = make(config, Device::cuda());
    const Tensor tokens = random_tokens(config, 3, 20);
    EXPECT_LT(largest_difference(cpu->logits(tokens), cuda->logits(tokens.to(Device::cuda()))),
              1e-4);
    autograd::backward(cpu->loss(tokens, tokens));
    autograd::backward(cuda->loss(tokens.to(Device::cuda()), tokens.to(Device::cuda())));
    const auto a = cpu->parameters();
    const auto b = cuda->parameters();
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_LT(largest_difference(*autograd::gradient_of(a[i]), *autograd::gradient_of(b[i])),
                1e-4);
    }
  }
}

}  // namespace
}  // namespace causeway
