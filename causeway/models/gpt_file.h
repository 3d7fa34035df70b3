// Saves and loads GPT models: safetensors with the configuration in the metadata.
#pragma once

#include "causeway/models/gpt.h"
#include "causeway/models/quantize.h"

#include <filesystem>
#include <memory>

namespace causeway::models {

// What a file holds of a model. All tensors have one dtype.
struct GptWeights {
  GptConfig config;
  State state;

  DType dtype() const { return state.at("norm.weight").dtype(); }
};

GptWeights weights_of(const Gpt& model);

// In evaluation mode. Throws if names or shapes are not those of the configuration.
std::shared_ptr<Gpt> make_gpt(const GptWeights& weights, const nn::Placement& placement = {});

// With `int8`, matrices are stored as i8 with one scale per row ("<name>.scales").
void save_gpt(const std::filesystem::path& path, const GptWeights& weights, bool int8 = false);
void save_gpt(const std::filesystem::path& path, const Gpt& model, bool int8 = false);

// On the CPU, in the dtype of the file; matrices stored as i8 are converted to it. Throws io and
// format errors that name the file.
GptWeights read_gpt(const std::filesystem::path& path);

// The configuration alone. Reads neither the tensors nor their hash.
GptConfig read_gpt_config(const std::filesystem::path& path);

// A model in the placement's dtype.
std::shared_ptr<Gpt> load_gpt(const std::filesystem::path& path,
                              const nn::Placement& placement = {});

}  // namespace causeway::models
