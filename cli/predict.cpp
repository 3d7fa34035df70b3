// `causeway predict`: predicts a column of a CSV file from the labelled rows of another.
#include "cli/predict.h"

#include "cli/predict_options.h"
#include "cli/print.h"

#include "causeway/core/file.h"
#include "causeway/models/estimator.h"
#include "causeway/tables/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace causeway::cli {

namespace {

struct Options : PredictOptions {
  std::string train;
  std::string test;
  std::string out;

  models::EstimatorOptions estimator() const {
    models::EstimatorOptions options;
    options.n_estimators = predictor.n_estimators;
    options.max_features = predictor.max_features;
    options.max_rows = predictor.max_rows;
    options.random_state = predictor.seed;
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

// Probabilities in the shortest form that reads back as the same double.
std::string lines_of(const Tensor& probabilities, const std::string& target,
                     const std::vector<std::string>& classes) {
  std::string text = field(target);
  for (const std::string& name : classes) text += "," + field("p_" + name);
  text += "\n";
  const auto* of_row = probabilities.data_as<double>();
  for (std::int64_t row = 0; row < probabilities.size(0); ++row, of_row += classes.size()) {
    const auto best = std::max_element(of_row, of_row + classes.size()) - of_row;
    text += field(classes[static_cast<std::size_t>(best)]);
    for (std::size_t c = 0; c < classes.size(); ++c) text += fmt::format(",{}", of_row[c]);
    text += "\n";
  }
  return text;
}

std::string lines_of(const Tensor& numbers, const std::string& target) {
  std::string text = field(target) + "\n";
  for (const double value : numbers.to_vector<double>()) text += fmt::format("{}\n", value);
  return text;
}

template <class Estimator>
auto fit_and_predict(Estimator& estimator, const Options& given, const tables::Table& train,
                     auto&& predict) {
  estimator.fit(train, given.target);
  given.warn(estimator.warnings());
  const tables::Table test = tables::read_csv(given.test);
  Progress progress("predictions", given.quiet);
  estimator.on_progress(bar_of(progress));
  const auto result =
      with_context(fmt::format("predicting \"{}\"", given.test), [&] { return predict(test); });
  progress.clear();
  given.warn(estimator.warnings());
  return result;
}

std::string predictions(const Options& given) {
  const tables::Table train = given.read(given.train);
  const auto model = given.load(train);
  if (model->config().is_regression()) {
    models::TabularRegressor regressor(model, given.estimator());
    return lines_of(
        fit_and_predict(regressor, given, train,
                        [&](const tables::Table& test) { return regressor.predict(test); }),
        given.target);
  }
  models::TabularClassifier classifier(model, given.estimator());
  const Tensor probabilities =
      fit_and_predict(classifier, given, train,
                      [&](const tables::Table& test) { return classifier.predict_proba(test); });
  return lines_of(probabilities, given.target, classifier.classes());
}

void run(const Options& given) {
  const std::string text = predictions(given);
  if (given.out.empty()) {
    print_text(text);
    return;
  }
  FileWriter file("predict", given.out);
  file.write(text);
  file.commit();
}

}  // namespace

void add_predict(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "predict", "Predict a column of a CSV file from the labelled rows of another");
  command->add_option("train", options->train, "CSV file of context rows, with the target column")
      ->required()
      ->type_name("FILE");
  command->add_option("test", options->test, "CSV file of query rows")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", options->out, "Output CSV file [stdout]")->type_name("FILE");
  options->add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
