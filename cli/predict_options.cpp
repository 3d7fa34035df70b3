#include "cli/predict_options.h"

#include "cli/predict_input.h"
#include "cli/weights.h"

#include "causeway/models/tabular_file.h"

#include <fmt/format.h>

namespace causeway::cli {

void PredictOptions::add_to(CLI::App& command) {
  command.add_option("--target", target, "The column to tell")->required()->type_name("NAME");
  command
      .add_option("--model", model,
                  "The model's file, else the weights that come with the program or lie in the "
                  "folder CAUSEWAY_WEIGHTS")
      ->type_name("FILE");
  command
      .add_option("--task", task,
                  "What those weights tell [classes, if the target is words or up to ten whole "
                  "numbers]")
      ->type_name("classes|numbers")
      ->check(CLI::IsMember({"classes", "numbers"}).description(""))
      ->excludes("--model");
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

std::shared_ptr<models::TabularTransformer> PredictOptions::load(const std::string& data) const {
  const auto packaged = [&] {
    return packaged_weights(task.empty() ? is_number_target(data, target) : task == "numbers");
  };
  const std::string path = model.empty() ? packaged() : model;
  const Device where = device_given ? device : parse_device("auto");
  return models::load_tabular(path, models::placement_for_use(where));
}

void PredictOptions::tell(const std::vector<std::string>& notes) const {
  for (const std::string& note : notes) {
    if (!quiet) fmt::print(stderr, "causeway: {}\n", note);
  }
}

}  // namespace causeway::cli
