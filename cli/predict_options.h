// Options shared by `causeway predict` and `causeway evaluate`.
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
  bool balanced = false;
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  // Reads a table that has the target column.
  tables::Table read(const std::string& path) const;
  // The model of --model, or the packaged one for the table's target.
  std::shared_ptr<models::TabularTransformer> load(const tables::Table& table) const;
  // The device of --device, or the best.
  Device place() const { return device_given ? device : parse_device("auto"); }
  // Prints warnings to stderr.
  void warn(const std::vector<std::string>& warnings) const;

 private:
  void add_ensemble(CLI::App& command);
};

// A progress bar with the time left, for work longer than two seconds.
models::ProgressHook bar_of(Progress& progress);

}  // namespace causeway::cli
