#include "causeway/models/tabular_file.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kModel = "causeway.tabular.1";

}  // namespace

void save_tabular(const std::filesystem::path& path, const TabularTransformer& model) {
  save_safetensors(path, model.state(), {{"model", kModel}, {"config", model.config().to_json()}});
}

std::shared_ptr<TabularTransformer> load_tabular(const std::filesystem::path& path,
                                                 const nn::Placement& placement) {
  const SafetensorsFile file = load_safetensors(path);
  const auto model = file.metadata.find("model");
  const auto config = file.metadata.find("config");
  if (model == file.metadata.end() || config == file.metadata.end() || model->second != kModel) {
    fail(ErrorKind::format, "load_tabular",
         fmt::format("\"{}\" is not a tabular model: its metadata lacks \"model\": \"{}\" and "
                     "\"config\", which save_tabular writes",
                     path.string(), kModel));
  }
  return with_context(fmt::format("loading \"{}\"", path.string()), [&] {
    auto made =
        std::make_shared<TabularTransformer>(TabularConfig::from_json(config->second), placement);
    made->load_state(file.tensors);
    made->eval();
    return made;
  });
}

nn::Placement inference_placement(Device device) {
  return {device == Device::cpu() ? DType::f32 : DType::bf16, device, nullptr};
}

}  // namespace causeway::models
