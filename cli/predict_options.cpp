#include "cli/predict_options.h"

#include "cli/print.h"

#include "causeway/models/tabular_file.h"
#include "causeway/tables/read_table.h"
#include "causeway/tables/target.h"
#include "causeway/tables/weights.h"

#include <fmt/format.h>

#include <chrono>

namespace causeway::cli {

namespace {

template <class T>
std::vector<std::string> names_of(const std::vector<T>& transforms) {
  std::vector<std::string> names;
  for (const T each : transforms) names.emplace_back(to_string(each));
  return names;
}

template <class T>
CLI::Option* add_transforms(CLI::App& command, const char* option, std::vector<T>& transforms,
                            T (*parse)(const std::string&), const char* help) {
  using Names = std::vector<std::string>;
  return command
      .add_option_function<Names>(
          option,
          [&transforms, parse](const Names& names) {
            transforms.clear();
            for (const std::string& name : names) transforms.push_back(parse(name));
          },
          fmt::format("{}, for the ensemble members in turn [{}]", help,
                      fmt::join(names_of(transforms), ",")))
      ->delimiter(',');
}

}  // namespace

void PredictOptions::add_to(CLI::App& command) {
  command.add_option("--target", target, "Column to predict")->required()->type_name("NAME");
  command
      .add_option("--model", model,
                  "Model file [the packaged weights, or those in the folder CAUSEWAY_WEIGHTS]")
      ->type_name("FILE");
  command
      .add_option(
          "--task", task,
          "Which packaged weights to use [classification for a target of text or of at most ten "
          "distinct integers, else regression]")
      ->type_name("classification|regression")
      ->check(CLI::IsMember({"classification", "regression"}).description(""))
      ->excludes("--model");
  add_count(command, "--estimators", predictor.n_estimators, "Ensemble size")
      ->check(at_least_one());
  add_count(command, "--max-rows", predictor.max_rows,
            "Maximum number of context rows; of more, each ensemble member reads a sample")
      ->check(at_least_one());
  add_count(command, "--max-features", predictor.max_features,
            "Maximum number of features; of more, each ensemble member reads a subset")
      ->check(at_least_one());
  add_ensemble(command);
  add_seed(command, predictor.seed);
  add_device(command, device, "Device to run the model on")->each([this](const std::string&) {
    device_given = true;
  });
  add_quiet(command, quiet);
}

void PredictOptions::add_ensemble(CLI::App& command) {
  add_transforms(command, "--transforms", predictor.transforms, models::parse_transform,
                 "Transforms of the columns")
      ->type_name("none|power|quantile|components,...");
  add_transforms(command, "--target-transforms", predictor.target_transforms,
                 models::parse_target_transform, "Transforms of the target of a regression")
      ->type_name("none|power|residual,...");
  command
      .add_option_function<std::string>(
          "--average",
          [this](const std::string& name) { predictor.average = models::parse_average(name); },
          fmt::format("What is averaged over ensemble members [{}]", to_string(predictor.average)))
      ->type_name("probabilities|logits");
  command
      .add_option_function<std::string>(
          "--temperature",
          [this](const std::string& text) {
            double value = text == "auto" ? models::kAutomatic : models::kCalibrated;
            if (text != "auto" && text != "calibrated" &&
                !(CLI::detail::lexical_cast(text, value) && value > 0)) {
              throw CLI::ValidationError("--temperature",
                                         "expected a positive number, auto or calibrated");
            }
            predictor.temperature = value;
          },
          "Divides the logits; auto: 0.9 for classes, 0.8 for numbers; calibrated: chosen on "
          "held-back context rows [auto]")
      ->type_name("auto|calibrated|NUMBER");
  command
      .add_option_function<std::string>(
          "--member-weights",
          [this](const std::string& name) {
            predictor.member_weights = models::parse_member_weights(name);
          },
          fmt::format("Weights of ensemble members; fitted: by their predictions for held-back "
                      "context rows; auto: fitted for regression [{}]",
                      to_string(predictor.member_weights)))
      ->type_name("auto|equal|fitted");
  command
      .add_option_function<std::string>(
          "--precision",
          [this](const std::string& name) { predictor.precision = models::parse_precision(name); },
          fmt::format("Matrix products on a CPU: auto rounds their operands to bf16 where the CPU "
                      "has instructions for it [{}]",
                      to_string(predictor.precision)))
      ->type_name("auto|f32");
}

tables::Table PredictOptions::read(const std::string& path) const {
  return tables::read_table_with_target(path, target);
}

std::shared_ptr<models::TabularTransformer> PredictOptions::load(const tables::Table& table) const {
  const auto packaged = [&] {
    const bool regression =
        task.empty() ? tables::is_regression_target(table, target) : task == "regression";
    return tables::packaged_weights(
        regression, "pass --model, such as the model.safetensors of a `causeway pretrain` run");
  };
  const std::filesystem::path path = model.empty() ? packaged() : std::filesystem::path(model);
  return models::load_tabular(path, models::inference_placement(place()));
}

void PredictOptions::warn(const std::vector<std::string>& warnings) const {
  for (const std::string& warning : warnings) {
    if (!quiet) note("causeway: {}\n", warning);
  }
}

models::ProgressHook bar_of(Progress& progress) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  return [&progress, start = Clock::now(), last = Clock::now()](double done) mutable {
    const Clock::time_point now = Clock::now();
    const double passed = Seconds(now - start).count();
    if (passed < 2 || Seconds(now - last).count() < 0.1 || done <= 0) return;
    last = now;
    progress.show(done, format_seconds(passed * (1 / done - 1)) + " left");
  };
}

}  // namespace causeway::cli
