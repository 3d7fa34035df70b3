// The flags that `causeway predict` and `causeway evaluate` share.
#pragma once

#include "cli/options.h"
#include "cli/progress.h"

#include "causeway/models/predictor.h"
#include "causeway/tables/table.h"

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
  // The CSV file, which has the target among its columns.
  tables::Table read(const std::string& path) const;
  // The model of --model, or the packaged one that suits the target of the table.
  std::shared_ptr<models::TabularTransformer> load(const tables::Table& table) const;
  // Prints sentences about the data to stderr.
  void warn(const std::vector<std::string>& warnings) const;
};

// Shows the fraction done as a bar with the time left, for work longer than two seconds.
models::ProgressHook bar_of(Progress& progress);

}  // namespace causeway::cli
