// `causeway predict`: predicts a column of a table from the labelled rows of another, or with a
// fitted estimator.
#include "cli/predict.h"

#include "cli/predict_options.h"
#include "cli/predict_page.h"
#include "cli/print.h"

#include "causeway/core/file.h"
#include "causeway/core/shown.h"
#include "causeway/models/estimator_file.h"
#include "causeway/models/tabular_file.h"
#include "causeway/tables/read_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <utility>

namespace causeway::cli {

namespace {

struct Options : PredictOptions {
  std::string train;
  std::string test;
  std::string fitted;
  std::string out;
  std::string html;
  std::string output = "mean";
  std::vector<double> quantiles = {0.05, 0.5, 0.95};

  models::EstimatorOptions estimator() const {
    models::EstimatorOptions options;
    options.n_estimators = predictor.n_estimators;
    options.max_features = predictor.max_features;
    options.max_rows = predictor.max_rows;
    options.random_state = predictor.seed;
    options.transforms = predictor.transforms;
    options.target_transforms = predictor.target_transforms;
    options.average = predictor.average;
    options.temperature = predictor.temperature;
    options.member_weights = predictor.member_weights;
    options.precision = predictor.precision;
    options.balanced = balanced;
    return options;
  }
};

// A CSV field, quoted if necessary.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string quantiles_csv(const Predictions& predictions) {
  std::string text;
  for (const double share : predictions.quantiles) {
    text += fmt::format("{}{}", text.empty() ? "" : ",",
                        field(fmt::format("{}_q{}", predictions.target, share)));
  }
  for (std::size_t i = 0; i < predictions.values.size(); ++i) {
    text += fmt::format("{}{}", i % predictions.quantiles.size() == 0 ? "\n" : ",",
                        predictions.values[i]);
  }
  return text + "\n";
}

// Numbers in the shortest form that reads back as the same double.
std::string csv_of(const Predictions& predictions) {
  if (!predictions.quantiles.empty()) return quantiles_csv(predictions);
  std::string text = field(predictions.target);
  for (const std::string& name : predictions.classes) text += "," + field("p_" + name);
  text += "\n";
  for (std::size_t row = 0; row < predictions.n_rows(); ++row) {
    if (predictions.classes.empty()) {
      text += fmt::format("{}\n", predictions.values[row]);
      continue;
    }
    text += field(predictions.best_class(row));
    for (const double share : predictions.probabilities(row)) text += fmt::format(",{}", share);
    text += "\n";
  }
  return text;
}

std::string json_of(const Predictions& predictions) {
  nlohmann::ordered_json json;
  json["target"] = predictions.target;
  if (!predictions.quantiles.empty()) {
    json["quantiles"] = predictions.quantiles;
    auto rows = nlohmann::ordered_json::array();
    const auto n = static_cast<std::ptrdiff_t>(predictions.quantiles.size());
    for (auto at = predictions.values.begin(); at != predictions.values.end(); at += n) {
      rows.push_back(std::vector<double>(at, at + n));
    }
    json["predictions"] = std::move(rows);
    return json.dump() + "\n";
  }
  if (predictions.classes.empty()) {
    json["predictions"] = predictions.values;
    return json.dump() + "\n";
  }
  auto names = nlohmann::ordered_json::array();
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t row = 0; row < predictions.n_rows(); ++row) {
    names.push_back(predictions.best_class(row));
    const auto of_row = predictions.probabilities(row);
    rows.push_back(std::vector<double>(of_row.begin(), of_row.end()));
  }
  json["classes"] = predictions.classes;
  json["predictions"] = std::move(names);
  json["probabilities"] = std::move(rows);
  return json.dump() + "\n";
}

template <class Estimator>
auto predict_with(Estimator& estimator, const Options& given, auto&& predict) {
  Progress progress("predictions", given.quiet);
  estimator.on_progress(bar_of(progress));
  const auto result = with_context(fmt::format("predicting \"{}\"", given.test), predict);
  progress.clear();
  given.warn(estimator.warnings());
  return result;
}

Predictions numbers_of(models::TabularRegressor& regressor, const Options& given,
                       const tables::Table& test) {
  const models::TargetDistribution predicted =
      predict_with(regressor, given, [&] { return regressor.predict_distribution(test); });
  if (given.output == "quantiles") {
    const Tensor numbers = predicted.quantiles(given.quantiles);
    return {given.target, {}, numbers.to_vector<double>(), given.quantiles};
  }
  const Tensor numbers = given.output == "median" ? predicted.median()
                         : given.output == "mode" ? predicted.mode()
                                                  : predicted.means;
  return {given.target, {}, numbers.to_vector<double>()};
}

Predictions classes_of(models::TabularClassifier& classifier, const Options& given,
                       const tables::Table& test, const std::vector<std::string>& names) {
  const Tensor probabilities =
      predict_with(classifier, given, [&] { return classifier.predict_proba(test); });
  return {given.target, names, probabilities.to_vector<double>()};
}

Predictions predictions_of(const Options& given, const tables::Table& train,
                           const tables::Table& test,
                           const std::shared_ptr<models::TabularTransformer>& model) {
  if (model->config().is_regression()) {
    models::TabularRegressor regressor(model, given.estimator());
    regressor.fit(train, given.target);
    given.warn(regressor.warnings());
    return numbers_of(regressor, given, test);
  }
  models::TabularClassifier classifier(model, given.estimator());
  classifier.fit(train, given.target);
  given.warn(classifier.warnings());
  return classes_of(classifier, given, test, classifier.classes());
}

// The table's columns under the names of an estimator that was fitted to an array.
tables::Table by_position(const tables::Table& table, const std::vector<std::string>& names,
                          const Options& given) {
  if (table.n_columns() != std::ssize(names)) {
    fail(ErrorKind::invalid_argument, "predict",
         fmt::format("{} has {} columns; {} was fitted to an array of {}, whose columns are found "
                     "by position",
                     shown(given.test), table.n_columns(), shown(given.fitted), names.size()));
  }
  std::vector<tables::TableColumn> columns = table.columns();
  for (std::size_t i = 0; i < names.size(); ++i) columns[i].name = names[i];
  return tables::Table(std::move(columns), table.n_rows());
}

Predictions predictions_of_fitted(const Options& given) {
  const models::EstimatorFile file =
      models::read_estimator_file(given.fitted, models::inference_placement(given.place()));
  const tables::Table read = tables::read_table(given.test);
  const auto names = tables::TableEncoder::from_json(file.state.encoder).names();
  const tables::Table test = file.named_columns ? read : by_position(read, names, given);
  if (file.regression) {
    models::TabularRegressor regressor(file.model, file.options);
    regressor.restore(file.state);
    return numbers_of(regressor, given, test);
  }
  models::TabularClassifier classifier(file.model, file.options);
  classifier.restore(file.state);
  return classes_of(classifier, given, test, file.classes);
}

// The command that writes the page again.
std::string command_of(const Options& given) {
  std::string text = fmt::format("causeway predict {} {} --target {}", shell_word(given.train),
                                 shell_word(given.test), shell_word(given.target));
  const models::PredictorOptions defaults;
  const auto add = [&](const char* name, auto value, auto usual) {
    if (value != usual) text += fmt::format(" --{} {}", name, value);
  };
  if (!given.model.empty()) text += " --model " + shell_word(given.model);
  if (!given.task.empty()) text += " --task " + given.task;
  add("estimators", given.predictor.n_estimators, defaults.n_estimators);
  add("max-rows", given.predictor.max_rows, defaults.max_rows);
  add("max-features", given.predictor.max_features, defaults.max_features);
  add("seed", given.predictor.seed, defaults.seed);
  const auto add_transforms = [&](const char* name, const auto& value, const auto& usual) {
    if (value == usual) return;
    std::vector<std::string_view> names;
    for (const auto transform : value) names.push_back(to_string(transform));
    text += fmt::format(" --{} {}", name, fmt::join(names, ","));
  };
  add_transforms("transforms", given.predictor.transforms, defaults.transforms);
  add_transforms("target-transforms", given.predictor.target_transforms,
                 defaults.target_transforms);
  add("average", std::string(to_string(given.predictor.average)),
      std::string(to_string(defaults.average)));
  if (given.predictor.temperature == models::kCalibrated) {
    text += " --temperature calibrated";
  } else {
    add("temperature", given.predictor.temperature, defaults.temperature);
  }
  add("member-weights", std::string(to_string(given.predictor.member_weights)),
      std::string(to_string(defaults.member_weights)));
  add("precision", std::string(to_string(given.predictor.precision)),
      std::string(to_string(defaults.precision)));
  add("output", given.output, Options().output);
  if (given.balanced) text += " --balanced";
  return text + " --html " + shell_word(given.html);
}

void write(const Options& given, const Predictions& predictions) {
  const std::string text = given.json ? json_of(predictions) : csv_of(predictions);
  if (given.out.empty()) {
    print_text(text);
    return;
  }
  FileWriter file("predict", given.out);
  file.write(text);
  file.commit();
}

void run(const Options& given) {
  if (!given.fitted.empty()) {
    write(given, predictions_of_fitted(given));
    return;
  }
  if (!given.html.empty() && given.output == "quantiles") {
    throw CLI::ValidationError("--html", "shows one number per row, not --output quantiles");
  }
  const tables::Table train = given.read(given.train);
  const tables::Table test = tables::read_table(given.test);
  const auto model = given.load(train);
  // Opened first, so that an unwritable path fails before the work.
  std::optional<FileWriter> page;
  if (!given.html.empty()) page.emplace("predict", given.html);
  const Predictions predictions = predictions_of(given, train, test, model);
  if (page.has_value()) {
    page->write(prediction_page(given, train, test, predictions, model, command_of(given)));
    page->commit();
  }
  if (!given.out.empty() || !page.has_value()) {
    write(given, predictions);
  } else {
    fmt::print("{}\n", given.html);
  }
}

// With --fitted there is one table, the query rows, and no setting of a fit.
void read_tables(const CLI::App& command, Options& options) {
  if (options.fitted.empty()) {
    if (options.train.empty()) throw CLI::RequiredError("train");
    if (options.test.empty()) throw CLI::RequiredError("test");
    if (options.target.empty()) throw CLI::RequiredError("--target");
    return;
  }
  if (options.train.empty()) throw CLI::RequiredError("test");
  if (!options.test.empty()) {
    throw CLI::ValidationError("--fitted", "has the context rows; pass the query rows only");
  }
  const std::set<std::string> allowed = {"train",    "--fitted",    "--target", "--out",   "--json",
                                         "--output", "--quantiles", "--quiet",  "--device"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || allowed.contains(option->get_name())) continue;
    throw CLI::ValidationError(
        "--fitted", fmt::format("has the settings of its fit; leave out {}", option->get_name()));
  }
  std::swap(options.train, options.test);
  if (options.target.empty()) options.target = "prediction";
}

}  // namespace

void add_predict(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "predict", "Predict a column of a table from the labelled rows of another");
  command
      ->add_option(
          "train", options->train,
          "Context rows, with the target column; CSV, also compressed (.gz, .zst), or Parquet "
          "[required without --fitted]")
      ->type_name("FILE");
  command->add_option("test", options->test, "Query rows, as CSV or Parquet [required]")
      ->type_name("FILE");
  command
      ->add_option("--fitted", options->fitted,
                   "Instead of train: file of a fitted estimator, which save() wrote [none]")
      ->type_name("FILE");
  command
      ->add_option("--out", options->out, "Output file of the predictions [stdout, without --html]")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "Also write an HTML page: predictions, scores and calibration on labelled rows "
                   "that are held back, importance of columns")
      ->type_name("FILE");
  command
      ->add_option("--output", options->output,
                   "For regression: what of each row's predicted distribution to write [mean]")
      ->type_name("mean|median|mode|quantiles")
      ->check(CLI::IsMember({"mean", "median", "mode", "quantiles"}).description(""));
  command
      ->add_option("--quantiles", options->quantiles,
                   "The quantiles of --output quantiles [0.05,0.5,0.95]")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("NUMBER,...");
  command->add_flag("--balanced", options->balanced,
                    "Weight the probabilities of classes inversely to their frequencies");
  options->add_to(*command);
  add_json(*command, options->json);
  command->get_option("--target")
      ->required(false)
      ->description(
          "Column to predict [required without --fitted; with it, the name of the predictions: "
          "prediction]");
  command->callback([options, command] {
    read_tables(*command, *options);
    run(*options);
  });
}

}  // namespace causeway::cli
