#include "cli/predict_options.h"

#include "causeway/core/environment.h"
#include "causeway/models/tabular_file.h"

#include <fmt/format.h>

namespace causeway::cli {

void PredictOptions::add_to(CLI::App& command) {
  command.add_option("--target", target, "The column to tell")->required()->type_name("NAME");
  command.add_option("--model", model, "The model's file, else what CAUSEWAY_TABULAR_MODEL names")
      ->type_name("FILE");
  command
      .add_option("--estimators", predictor.n_estimators,
                  "Orders of columns and classes to average")
      ->check(at_least_one())
      ->type_name("N");
  command.add_option("--max-rows", predictor.max_rows, "Known rows to keep; of more, a sample")
      ->check(at_least_one())
      ->type_name("N");
  command.add_option("--max-features", predictor.max_features, "The most columns to take")
      ->check(at_least_one())
      ->type_name("N");
  add_seed(command, predictor.seed);
  add_device(command, device, "Where the model runs")->each([this](const std::string&) {
    device_given = true;
  });
  add_quiet(command, quiet);
}

std::shared_ptr<models::TabularTransformer> PredictOptions::load() const {
  const std::string path =
      model.empty() ? environment("CAUSEWAY_TABULAR_MODEL").value_or("") : model;
  if (path.empty()) {
    fail(ErrorKind::invalid_argument, "predict",
         "there is no model: pass --model, or set CAUSEWAY_TABULAR_MODEL, to a file that "
         "save_tabular wrote");
  }
  const Device where = device_given ? device : parse_device("auto");
  return models::load_tabular(path, models::placement_for_use(where));
}

void PredictOptions::tell(const std::vector<std::string>& notes) const {
  for (const std::string& note : notes) {
    if (!quiet) fmt::print(stderr, "causeway: {}\n", note);
  }
}

}  // namespace causeway::cli
