#include "causeway/models/tabular_file.h"

#include "causeway/core/error.h"
#include "causeway/models/model_file.h"

#include <fmt/format.h>

namespace causeway::models {

void save_tabular(const std::filesystem::path& path, const TabularTransformer& model) {
  write_model_file(path, {kTabularKind, model.config().to_json(), model.state()});
}

std::shared_ptr<TabularTransformer> load_tabular(const std::filesystem::path& path,
                                                 const nn::Placement& placement) {
  const ModelFile file = read_model_file(path);
  if (file.kind != kTabularKind) {
    fail(ErrorKind::format, "load_tabular",
         fmt::format("\"{}\" is not a tabular model: its metadata lacks \"model\": \"{}\" and "
                     "\"config\", which save_tabular writes",
                     path.string(), kTabularKind));
  }
  return with_context(fmt::format("loading \"{}\"", path.string()), [&] {
    const TabularConfig config = TabularConfig::from_json(file.config);
    require_parameters(file.state, config.n_parameters());
    auto made = std::make_shared<TabularTransformer>(config, placement);
    made->load_state(dequantize_state(file.state, placement.dtype));
    made->eval();
    return made;
  });
}

nn::Placement inference_placement(Device device) {
  return {device == Device::cpu() ? DType::f32 : DType::bf16, device, nullptr};
}

}  // namespace causeway::models
