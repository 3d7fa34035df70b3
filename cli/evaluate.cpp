// `causeway evaluate`: scores a model on random halves of a table.
#include "cli/predict.h"
#include "cli/predict_options.h"
#include "cli/progress.h"
#include "cli/text_table.h"

#include "causeway/models/evaluation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <numeric>

namespace causeway::cli {

namespace {

struct Options : PredictOptions {
  std::string data;
  std::int64_t splits = 5;
};

struct Score {
  std::string name;
  std::vector<double> values = {};  // one per split
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += (value - mean(values)) * (value - mean(values));
  return std::sqrt(squares / static_cast<double>(values.size()));
}

void print(const Options& given, const tables::LabelledTable& table,
           const std::vector<Score>& scores) {
  if (given.json) {
    nlohmann::ordered_json json;
    json["rows"] = table.n_rows();
    json["features"] = table.features.names.size();
    json["splits"] = given.splits;
    for (const Score& score : scores) json[score.name] = score.values;
    fmt::print("{}\n", json.dump());
    return;
  }
  TextTable text({{"score"}, {"mean", TextTable::Align::right}, {"std", TextTable::Align::right}});
  for (const Score& score : scores) {
    text.add_row({score.name, fmt::format("{:.4f}", mean(score.values)),
                  fmt::format("{:.4f}", deviation(score.values))});
  }
  fmt::print("{}", text.to_string());
}

void run(const Options& given) {
  const tables::Table read = given.read(given.data);
  const auto model = given.load(read);
  const bool regression = model->config().is_regression();
  const tables::LabelledTable table(read, given.target, regression);
  given.warn(table.warnings);
  models::require_splittable(given.data, table);
  std::vector<Score> scores;
  for (const std::string& name : models::score_names(regression)) scores.push_back({name});
  models::TabularPredictor predictor(model, given.predictor);
  Generator generator(given.predictor.seed);
  {
    Progress progress("splits", given.quiet);
    for (std::int64_t i = 0; i < given.splits; ++i) {
      const tables::Halves halves = tables::halve(table.strata(), generator);
      const auto values = models::evaluate_halves(predictor, table, halves).scores;
      for (std::size_t k = 0; k < values.size(); ++k) scores[k].values.push_back(values[k]);
      progress.update(i + 1, given.splits);
    }
  }
  given.warn(predictor.warnings());
  print(given, table, scores);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Score a model on a table: one random half is context, the other is predicted");
  command
      ->add_option("data", options->data,
                   "Table with the target column; CSV, also compressed (.gz, .zst), or Parquet")
      ->required()
      ->type_name("FILE");
  add_count(*command, "--splits", options->splits, "Number of random splits")
      ->check(at_least_one());
  options->add_to(*command);
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
