// Saves and loads GPT models: safetensors with the configuration in the metadata.
#pragma once

#include "causeway/models/gpt.h"

#include <filesystem>
#include <memory>

namespace causeway::models {

// With `int8`, matrices are stored as i8 with one scale per row ("<name>.scales").
void save_gpt(const std::filesystem::path& path, const Gpt& model, bool int8 = false);

// Throws io and format errors that name the file. Matrices stored as i8 are converted to the
// placement's dtype.
std::shared_ptr<Gpt> load_gpt(const std::filesystem::path& path,
                              const nn::Placement& placement = {});

}  // namespace causeway::models
