// What the files of all models have in common: safetensors with the kind of the model, its
// configuration and a hash of both and the tensors in the metadata.
#pragma once

#include "causeway/models/quantize.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace causeway::models {

inline constexpr const char* kGptKind = "causeway.gpt.1";
inline constexpr const char* kTabularKind = "causeway.tabular.1";
inline constexpr const char* kEstimatorKind = "causeway.estimator.1";

struct ModelDescription {
  std::string kind;    // empty for a file of another program
  std::string config;  // JSON
};

struct ModelFile : ModelDescription {
  State state;  // on the CPU; matrices may be i8 with scales
};

void write_model_file(const std::filesystem::path& path, const ModelFile& file);

// Throws io errors for unreadable files. Throws format errors for damaged ones, tensors that are
// neither floating nor i8, and weights that are not finite; the tensors of an estimator may be
// anything. Files of older versions have no hash.
ModelFile read_model_file(const std::filesystem::path& path);

// Reads neither the tensors nor their hash. Throws io and format errors.
ModelDescription read_model_description(const std::filesystem::path& path);

// Throws a format error that names the first weight that is not finite.
void require_finite(const State& state);

// Throws a format error if a model of `n_parameters` needs more weights than there are. Called
// before a model is made from a configuration, whose sizes may be anything.
void require_parameters(const State& state, std::int64_t n_parameters);

// The same model with the matrices that it multiplies by as i8 with scales. Throws invalid_argument
// if they are i8 already, and for a file that is no model.
ModelFile quantized(const ModelFile& file);

// The model file of a run's folder; any other path is returned as it is.
std::filesystem::path model_file_of(const std::filesystem::path& path);

}  // namespace causeway::models
