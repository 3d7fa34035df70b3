// `causeway evaluate`: how well a model tells one half of a table by the other.
#include "cli/predict.h"
#include "cli/predict_input.h"
#include "cli/predict_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/table_scores.h"

#include "causeway/tensor/indexing.h"
#include "causeway/train/scores.h"

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
  const char* name;
  std::vector<double> values = {};  // one a split
};

void score(models::TabularPredictor& predictor, const TableReader& table, const Halves& halves,
           std::vector<Score>& scores) {
  const auto n_classes = static_cast<std::int64_t>(table.classes().size());
  predictor.fit(index_select(table.x(), 0, halves.known), index_select(table.y(), 0, halves.known),
                n_classes, table.names());
  const Tensor asked = index_select(table.x(), 0, halves.asked);
  const Tensor truth = index_select(table.y(), 0, halves.asked);
  if (predictor.is_regression()) {
    const auto said = predictor.numbers(asked).to_vector<double>();
    const auto numbers = truth.to_vector<double>();
    scores[0].values.push_back(train::root_mean_squared_error(said, numbers));
    scores[1].values.push_back(train::mean_absolute_error(said, numbers));
    scores[2].values.push_back(train::r2(said, numbers));
    return;
  }
  const auto said = predictor.probabilities(asked).to_vector<double>();
  const auto classes = truth.to(DType::i64).to_vector<std::int64_t>();
  scores[0].values.push_back(train::roc_auc(said, classes, n_classes));
  scores[1].values.push_back(train::accuracy(said, classes, n_classes));
  scores[2].values.push_back(train::log_loss(said, classes, n_classes));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += (value - mean(values)) * (value - mean(values));
  return std::sqrt(squares / static_cast<double>(values.size()));
}

void print(const Options& given, const TableReader& table, const std::vector<Score>& scores) {
  if (given.json) {
    nlohmann::ordered_json json;
    json["rows"] = table.y().size(0);
    json["features"] = table.names().size();
    json["splits"] = given.splits;
    for (const Score& score : scores) json[score.name] = score.values;
    fmt::print("{}\n", json.dump());
    return;
  }
  Table text({{"score"}, {"mean", Table::Align::right}, {"deviation", Table::Align::right}});
  for (const Score& score : scores) {
    text.add_row({score.name, fmt::format("{:.4f}", mean(score.values)),
                  fmt::format("{:.4f}", deviation(score.values))});
  }
  fmt::print("{}", text.to_string());
}

void run(const Options& given) {
  const auto model = given.load(given.data);
  const bool regression = model->config().is_regression();
  const TableReader table(given.data, given.target, regression);
  given.tell(table.notes());
  require_two(given.data, table, regression);
  std::vector<Score> scores = regression
                                  ? std::vector<Score>{{"rmse"}, {"mae"}, {"r2"}}
                                  : std::vector<Score>{{"roc_auc"}, {"accuracy"}, {"log_loss"}};
  models::TabularPredictor predictor(model, given.predictor);
  Generator generator(given.predictor.seed);
  {
    Progress progress("splits", given.quiet);
    for (std::int64_t i = 0; i < given.splits; ++i) {
      score(predictor, table, halve(table, regression, generator), scores);
      progress.update(i + 1, given.splits);
    }
  }
  given.tell(predictor.notes());
  print(given, table, scores);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("evaluate", "Score a model on halves of a CSV file, again and again");
  command->add_option("data", options->data, "Rows whose target is known")
      ->required()
      ->type_name("FILE");
  command->add_option("--splits", options->splits, "How often the rows are halved")
      ->check(at_least_one())
      ->type_name("N");
  options->add_to(*command);
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
