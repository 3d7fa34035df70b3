// What the files of all models have in common: safetensors with the kind of the model and its
// configuration in the metadata.
#pragma once

#include "causeway/models/quantize.h"

#include <filesystem>
#include <string>

namespace causeway::models {

inline constexpr const char* kGptKind = "causeway.gpt.1";
inline constexpr const char* kTabularKind = "causeway.tabular.1";

struct ModelFile {
  std::string kind;    // empty for a file of another program
  std::string config;  // JSON
  State state;         // on the CPU; matrices may be i8 with scales
};

void write_model_file(const std::filesystem::path& path, const ModelFile& file);

// Throws io errors for unreadable files and format errors for damaged ones.
ModelFile read_model_file(const std::filesystem::path& path);

// The same model with the matrices that it multiplies by as i8 with scales. Throws invalid_argument
// if they are i8 already, and for a file that is no model.
ModelFile quantized(const ModelFile& file);

// The model file of a run's folder; any other path is returned as it is.
std::filesystem::path model_file_of(const std::filesystem::path& path);

}  // namespace causeway::models
