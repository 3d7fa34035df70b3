#include "causeway/models/gpt_file.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/quantize.h"

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kModel = "causeway.gpt.1";
constexpr const char* kScales = ".scales";

using State = std::map<std::string, Tensor>;

// The embedding and its positions are looked up, not multiplied.
bool is_multiplied(const GptConfig& config, const std::string& name, const Tensor& tensor) {
  if (tensor.n_dims() != 2 || name == "positions") return false;
  return name != "embedding" || config.tied_head;
}

State quantized(const Gpt& model) {
  State state;
  for (const auto& [name, tensor] : model.state()) {
    if (!is_multiplied(model.config(), name, tensor)) {
      state.emplace(name, tensor);
      continue;
    }
    const QuantizedMatrix matrix = quantize_rows(autograd::detach(tensor));
    state.emplace(name, matrix.values);
    state.emplace(name + kScales, matrix.scales);
  }
  return state;
}

State dequantized(const State& stored, DType dtype) {
  State state;
  for (const auto& [name, tensor] : stored) {
    if (name.ends_with(kScales)) continue;
    const auto scales = stored.find(name + kScales);
    state.emplace(name,
                  scales == stored.end() ? tensor : dequantize({tensor, scales->second}, dtype));
  }
  return state;
}

}  // namespace

void save_gpt(const std::filesystem::path& path, const Gpt& model, bool int8) {
  save_safetensors(path, int8 ? quantized(model) : model.state(),
                   {{"model", kModel}, {"config", model.config().to_json()}});
}

std::shared_ptr<Gpt> load_gpt(const std::filesystem::path& path, const nn::Placement& placement) {
  const SafetensorsFile file = load_safetensors(path);
  const auto model = file.metadata.find("model");
  const auto config = file.metadata.find("config");
  if (model == file.metadata.end() || config == file.metadata.end() || model->second != kModel) {
    fail(ErrorKind::format, "load_gpt",
         fmt::format("\"{}\" is not a GPT model: its metadata lacks \"model\": \"{}\" and "
                     "\"config\", which save_gpt writes; causeway gpt import reads models of "
                     "Hugging Face",
                     path.string(), kModel));
  }
  return with_context(fmt::format("loading \"{}\"", path.string()), [&] {
    auto made = std::make_shared<Gpt>(GptConfig::from_json(config->second), placement);
    made->load_state(dequantized(file.tensors, placement.dtype));
    made->eval();
    return made;
  });
}

}  // namespace causeway::models
