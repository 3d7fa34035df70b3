// Fitted estimators in one safetensors file: the model's weights, the context rows, the encoder of
// columns and the settings.
#pragma once

#include "causeway/models/estimator.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace causeway::models {

struct EstimatorFile {
  bool regression = false;
  EstimatorOptions options;
  TabularEstimator::State state;
  std::vector<std::string> classes;  // labels by code; empty for regression
  std::string label_type = "text";   // or "number", "boolean": the labels in Python; with NumPy's
                                     // dtype, if they have one, as in "number:<f8"
  bool named_columns = true;         // else columns are found by position, as in arrays
  std::shared_ptr<TabularTransformer> model;
};

void write_estimator_file(const std::filesystem::path& path, const EstimatorFile& file);

// Throws io and format errors that name the file.
EstimatorFile read_estimator_file(const std::filesystem::path& path,
                                  const nn::Placement& placement = {});

}  // namespace causeway::models
