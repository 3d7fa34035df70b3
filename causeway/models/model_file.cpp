#include "causeway/models/model_file.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/gpt_config.h"

#include <algorithm>

namespace causeway::models {

namespace {

constexpr const char* kKindKey = "model";
constexpr const char* kConfigKey = "config";

}  // namespace

void write_model_file(const std::filesystem::path& path, const ModelFile& file) {
  save_safetensors(path, file.state, {{kKindKey, file.kind}, {kConfigKey, file.config}});
}

ModelFile read_model_file(const std::filesystem::path& path) {
  SafetensorsFile file = load_safetensors(path);
  const auto kind = file.metadata.find(kKindKey);
  const auto config = file.metadata.find(kConfigKey);
  const bool is_model = kind != file.metadata.end() && config != file.metadata.end();
  return {is_model ? kind->second : "", is_model ? config->second : "", std::move(file.tensors)};
}

ModelFile quantized(const ModelFile& file) {
  const auto refuse = [](const char* why) { fail(ErrorKind::invalid_argument, "quantize", why); };
  if (file.kind != kGptKind && file.kind != kTabularKind) {
    refuse("neither a GPT nor a tabular model of causeway");
  }
  if (std::ranges::any_of(file.state,
                          [](const auto& e) { return e.second.dtype() == DType::i8; })) {
    refuse("the matrices are int8 already");
  }
  // An embedding that is only looked up costs no time, and neither do positions.
  const bool keeps_embedding =
      file.kind == kGptKind && !GptConfig::from_json(file.config).tied_head;
  const auto is_multiplied = [&](const std::string& name, const Tensor& tensor) {
    return tensor.n_dims() == 2 && is_floating(tensor.dtype()) && name != "positions" &&
           !(name == "embedding" && keeps_embedding);
  };
  return {file.kind, file.config, quantize_state(file.state, is_multiplied)};
}

std::filesystem::path model_file_of(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path / "model.safetensors" : path;
}

}  // namespace causeway::models
