// The loop of text generation: calls that use a decoder one after the other, lengths around the
// number of steps that are queued at once, and sequences that end early.
#include "tests/models/small_gpt.h"
#include "tests/tensor/devices.h"

namespace causeway {
namespace {

using Sequences = std::vector<GptDecoder::Tokens>;

Sequences prompts_of(std::int64_t batch) {
  Sequences prompts;
  for (std::int64_t i = 0; i < batch; ++i) {
    prompts.emplace_back(static_cast<std::size_t>(1 + 5 * i), i + 2);
  }
  return prompts;
}

models::GenerateOptions drawn_options(std::int64_t tokens, std::uint64_t seed) {
  models::GenerateOptions options;
  options.tokens = tokens;
  options.seed = seed;
  return options;
}

Sequences first_tokens(Sequences all, std::size_t n_tokens) {
  for (auto& tokens : all) tokens.resize(std::min(tokens.size(), n_tokens));
  return all;
}

void expect_calls_agree(Device device) {
  GptConfig config = tiny();
  config.length = 60;
  const auto model = make(config, device);
  for (const std::int64_t batch : {1, 3}) {
    const Sequences prompts = prompts_of(batch);
    GptDecoder decoder(*model, batch);
    const Sequences expected = decoder.generate(prompts, drawn_options(40, 1));
    for (const auto& tokens : expected) EXPECT_EQ(tokens.size(), 40u);
    const Sequences other = decoder.generate(prompts, drawn_options(40, 2));
    EXPECT_NE(other, expected);
    EXPECT_EQ(GptDecoder(*model, batch).generate(prompts, drawn_options(40, 2)), other);
    for (const std::int64_t tokens : {1, 2, 8, 9, 10, 16, 17, 18, 40}) {
      if (few_cases() && tokens != 10) continue;
      EXPECT_EQ(decoder.generate(prompts, drawn_options(tokens, 1)),
                first_tokens(expected, static_cast<std::size_t>(tokens)))
          << batch << " sequences, " << tokens << " tokens";
    }
    // Full sequences end, each at its own length.
    const Sequences full = decoder.generate(prompts, drawn_options(1000, 1));
    for (std::size_t i = 0; i < full.size(); ++i) {
      EXPECT_EQ(full[i].size(), 60 - prompts[i].size());
    }
    EXPECT_EQ(first_tokens(full, 40), expected);
    const Sequences whole(static_cast<std::size_t>(batch), GptDecoder::Tokens(60, 3));
    EXPECT_EQ(decoder.generate(whole, drawn_options(5, 1)),
              Sequences(static_cast<std::size_t>(batch)));
  }
}

void expect_callbacks_agree(Device device) {
  GptConfig config = tiny();
  config.length = 60;
  const auto model = make(config, device);
  for (const std::int64_t batch : {1, 3}) {
    const Sequences prompts = prompts_of(batch);
    GptDecoder decoder(*model, batch);
    const Sequences expected = decoder.generate(prompts, drawn_options(40, 1));
    // Sequence i ends after 4 (i + 1) tokens or more.
    for (const bool ends : {false, true}) {
      Sequences received(prompts.size());
      const Sequences made = decoder.generate(
          prompts, drawn_options(40, 1), [&](std::size_t i, std::span<const std::int64_t> tokens) {
            EXPECT_FALSE(tokens.empty());
            EXPECT_FALSE(ends && received[i].size() >= 4 * (i + 1)) << "called after its end";
            received[i].insert(received[i].end(), tokens.begin(), tokens.end());
            return !ends || received[i].size() < 4 * (i + 1);
          });
      EXPECT_EQ(made, received);
      for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_GE(made[i].size(), ends ? 4 * (i + 1) : 40u);
        EXPECT_EQ(made[i], first_tokens({expected[i]}, made[i].size())[0]);
      }
    }
    // Steps that were queued after the end change nothing.
    EXPECT_EQ(decoder.generate(prompts, drawn_options(40, 1)), expected);
  }
}

TEST(GptGenerate, CallsAgree) { expect_calls_agree(Device::cpu()); }
TEST(GpuGptGenerate, CallsAgree) {
  CAUSEWAY_REQUIRE_GPU();
  expect_calls_agree(Device::cuda());
}

TEST(GptGenerate, CallbacksAgree) { expect_callbacks_agree(Device::cpu()); }
TEST(GpuGptGenerate, CallbacksAgree) {
  CAUSEWAY_REQUIRE_GPU();
  expect_callbacks_agree(Device::cuda());
}

}  // namespace
}  // namespace causeway
