// Model files of strangers: damaged, relabelled, not finite, larger in the header than in the data.
#include "causeway/models/model_file.h"

#include "causeway/data/safetensors.h"
#include "causeway/models/gpt_decoder.h"
#include "causeway/models/gpt_file.h"
#include "causeway/models/predictor.h"
#include "causeway/models/tabular_file.h"
#include "tests/data/scratch.h"
#include "tests/models/tables.h"

#include <chrono>
#include <limits>

namespace causeway {
namespace {

using data_test::contents;
using data_test::failure;
using data_test::put;
using data_test::says;
using data_test::Scratch;
using models::TabularConfig;
using models::TabularTransformer;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TabularConfig tiny() {
  TabularConfig config;
  config.width = 16;
  config.heads = 2;
  config.hidden = 16;
  config.layers = 1;
  config.thinking = 2;
  return config;
}

std::shared_ptr<TabularTransformer> make(const TabularConfig& config) {
  Generator generator(3);
  return std::make_shared<TabularTransformer>(config, nn::Placement{DType::f32, {}, &generator});
}

std::string loading(const std::filesystem::path& path) {
  return failure([&] { models::load_tabular(path); });
}

// Writes the tensors of a model without a hash, after a change.
template <class Change>
void rewrite(const std::filesystem::path& path, Change&& change) {
  SafetensorsFile file = load_safetensors(path);
  file.metadata.erase("sha256");
  change(file);
  save_safetensors(path, file.tensors, file.metadata);
}

TEST(ModelFile, EveryFlippedBitOfTheTensorsIsNoticed) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  models::save_tabular(path, *make(tiny()));
  EXPECT_EQ(loading(path), "");
  const std::string whole = contents(path);
  for (std::size_t at = whole.size() - 1; at > whole.size() / 2; at -= 997) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    put(path, damaged);
    EXPECT_TRUE(says(loading(path), "format: [read_model] the file is damaged", path.string()));
  }
}

TEST(ModelFile, TheConfigurationIsHashedToo) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  models::save_tabular(path, *make(tiny()));
  SafetensorsFile file = load_safetensors(path);
  std::string& config = file.metadata.at("config");
  config.replace(config.find("\"residual_decay\":1.0"), 20, "\"residual_decay\":0.5");
  save_safetensors(path, file.tensors, file.metadata);
  EXPECT_TRUE(says(loading(path), "format: [read_model] the file is damaged"));
}

TEST(ModelFile, WeightsThatAreNotFiniteAreRefused) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      models::save_tabular(path, *make(tiny()));
      rewrite(path, [&](SafetensorsFile& file) {
        Tensor& encoder = file.tensors.at("encoder");
        encoder.select(0, 1).select(0, 2).copy_from(full({}, bad));
        for (auto& [name, tensor] : file.tensors) tensor = tensor.to(dtype);
      });
      EXPECT_TRUE(says(loading(path), "format: [read_model] tensor \"encoder\" has a weight",
                       "not finite"));
    }
  }
}

TEST(ModelFile, IntegersAreNoWeights) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  models::save_tabular(path, *make(tiny()));
  rewrite(path, [](SafetensorsFile& file) {
    for (auto& [name, tensor] : file.tensors) tensor = tensor.to(DType::bf16);
  });
  EXPECT_EQ(loading(path), "");
  std::string text = contents(path);
  for (std::size_t at = text.find("\"BF16\""); at != std::string::npos;
       at = text.find("\"BF16\"")) {
    text.replace(at, 6, "\"I16\" ");
  }
  put(path, text);
  EXPECT_TRUE(says(loading(path), "format: [read_model] tensor", "is i16; expected a floating"));
}

TEST(ModelFile, SizesAreComparedBeforeMemoryIsTaken) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  models::save_tabular(path, *make(tiny()));
  rewrite(path, [](SafetensorsFile& file) {
    TabularConfig config = tiny();
    config.layers = 64;
    config.width = 4096;
    config.hidden = 65536;
    file.metadata.at("config") = config.to_json();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(says(loading(path), "format: [read_model] the configuration describes a model of"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(ModelFile, WidthsAreIntegers) {
  const Scratch scratch;
  const auto path = scratch / "model.safetensors";
  models::save_tabular(path, *make(tiny()));
  rewrite(path, [](SafetensorsFile& file) {
    std::string& config = file.metadata.at("config");
    config.replace(config.find("\"width\":16"), 10, "\"width\":16.5");
  });
  EXPECT_TRUE(says(loading(path), "invalid_argument: ", "expected an integer"));
}

TEST(ModelFile, ParameterCountsOfConfigurations) {
  std::vector<TabularConfig> configs = {tiny()};
  for (const char* name : {"default", "nanotabpfn", "speedrun"}) {
    configs.push_back(TabularConfig::preset(name));
  }
  configs.push_back(tiny());
  configs.back().classes = 0;
  for (const TabularConfig& config : configs) {
    EXPECT_EQ(config.n_parameters(), make(config)->n_parameters()) << config.to_json();
  }
}

// Finite weights whose products are not.
TEST(ModelFile, LogitsThatAreNotFiniteAreRefused) {
  const auto model = make(tiny());
  for (const Tensor& parameter : model->parameters()) {
    autograd::detach(parameter).copy_from(full(parameter.shape(), 1e38));
  }
  model->eval();
  models::TabularPredictor predictor(model, {});
  Generator generator(1);
  const Tensor x = generator.normal({12, 3}).to(DType::f64);
  const Tensor y = generator.integers({12}, 0, 2).to(DType::f64);
  predictor.fit(x, y, 2);
  EXPECT_TRUE(says(failure([&] { predictor.predict_proba(x); }),
                   "invalid_argument: [tabular predictor] the model's output is not finite"));
}

TEST(ModelFile, LogitsOfAGptAreFinite) {
  models::GptConfig config = models::GptConfig::preset("bytes");
  config.width = 16;
  config.heads = 2;
  config.layers = 1;
  config.length = 16;
  models::Gpt model(config);
  for (const Tensor& parameter : model.parameters()) {
    autograd::detach(parameter).copy_from(full(parameter.shape(), 1e38));
  }
  model.eval();
  for (const std::int64_t n_prompts : {1, 3}) {
    models::GptDecoder decoder(model, n_prompts, 8);
    const std::vector<models::GptDecoder::Tokens> prompts(static_cast<std::size_t>(n_prompts), {1});
    models::GenerateOptions options;
    options.tokens = 2;
    EXPECT_TRUE(says(failure([&] { decoder.generate(prompts, options); }),
                     "invalid_argument: [generate] the model's output is not finite"));
  }
}

}  // namespace
}  // namespace causeway
