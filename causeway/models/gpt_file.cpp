#include "causeway/models/gpt_file.h"

#include "causeway/core/error.h"
#include "causeway/models/model_file.h"

#include <fmt/format.h>

namespace causeway::models {

namespace {

void require_gpt(const std::filesystem::path& path, const std::string& kind) {
  if (kind == kGptKind) return;
  fail(ErrorKind::format, "load_gpt",
       fmt::format("\"{}\" is not a GPT model: its metadata lacks \"model\": \"{}\" and "
                   "\"config\", which save_gpt writes; causeway gpt import reads models of "
                   "Hugging Face",
                   path.string(), kGptKind));
}

}  // namespace

GptWeights weights_of(const Gpt& model) { return {model.config(), model.state()}; }

std::shared_ptr<Gpt> make_gpt(const GptWeights& weights, const nn::Placement& placement) {
  require_parameters(weights.state, weights.config.n_parameters());
  nn::Placement undrawn = placement;
  undrawn.initialize = false;
  auto model = std::make_shared<Gpt>(weights.config, undrawn);
  model->load_state(weights.state);
  model->eval();
  return model;
}

void save_gpt(const std::filesystem::path& path, const GptWeights& weights, bool int8) {
  const ModelFile file{{kGptKind, weights.config.to_json()}, weights.state};
  write_model_file(path, int8 ? quantized(file) : file);
}

void save_gpt(const std::filesystem::path& path, const Gpt& model, bool int8) {
  save_gpt(path, weights_of(model), int8);
}

GptConfig read_gpt_config(const std::filesystem::path& path) {
  const ModelDescription found = read_model_description(path);
  require_gpt(path, found.kind);
  return with_context(fmt::format("loading \"{}\"", path.string()),
                      [&] { return GptConfig::from_json(found.config); });
}

GptWeights read_gpt(const std::filesystem::path& path) {
  const ModelFile file = read_model_file(path);
  require_gpt(path, file.kind);
  return with_context(fmt::format("loading \"{}\"", path.string()), [&]() -> GptWeights {
    const auto norm = file.state.find("norm.weight");
    if (norm == file.state.end()) {
      fail(ErrorKind::format, "load_gpt", "key \"norm.weight\" is missing");
    }
    return {GptConfig::from_json(file.config), dequantize_state(file.state, norm->second.dtype())};
  });
}

std::shared_ptr<Gpt> load_gpt(const std::filesystem::path& path, const nn::Placement& placement) {
  const GptWeights weights = read_gpt(path);
  return with_context(fmt::format("loading \"{}\"", path.string()),
                      [&] { return make_gpt(weights, placement); });
}

}  // namespace causeway::models
