// Saves and loads tabular transformers: safetensors with the configuration in the metadata.
#pragma once

#include "causeway/models/tabular.h"

#include <filesystem>
#include <memory>

namespace causeway::models {

void save_tabular(const std::filesystem::path& path, const TabularTransformer& model);

// Throws io and format errors that name the file. Matrices stored as i8 (model_file.h) are
// converted to the placement's dtype.
std::shared_ptr<TabularTransformer> load_tabular(const std::filesystem::path& path,
                                                 const nn::Placement& placement = {});

// bf16 on a GPU, f32 on the CPU.
nn::Placement inference_placement(Device device);

}  // namespace causeway::models
