// The flags that `causeway predict` and `causeway evaluate` share.
#pragma once

#include "cli/options.h"

#include "causeway/models/predictor.h"

#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

struct PredictOptions {
  std::string target;
  std::string model;
  std::string task;
  models::PredictorOptions predictor;
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  // The model of --model, or the packaged one for the target of the table `data`.
  std::shared_ptr<models::TabularTransformer> load(const std::string& data) const;
  // Sentences about the data, to stderr.
  void tell(const std::vector<std::string>& notes) const;
};

}  // namespace causeway::cli
