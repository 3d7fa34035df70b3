#include "causeway/models/evaluation.h"

#include "causeway/core/error.h"
#include "causeway/tables/scores.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace causeway::models {

std::vector<std::string> score_names(bool regression) {
  if (regression) return {"rmse", "mae", "r2"};
  return {"roc_auc", "accuracy", "log_loss"};
}

void require_splittable(const std::string& path, const tables::LabelledTable& table) {
  const bool has_two_classes = table.n_classes() != 1;  // 0 for regression
  if (table.n_rows() >= 2 && has_two_classes) return;
  fail(ErrorKind::invalid_argument, "evaluate",
       fmt::format("\"{}\" has {} labelled {}; expected at least 2", path,
                   has_two_classes ? table.n_rows() : 1, has_two_classes ? "rows" : "class"));
}

TableEvaluation evaluate_classes(std::span<const double> probabilities,
                                 std::span<const std::int64_t> truth, std::int64_t n_classes) {
  TableEvaluation made;
  made.scores = {tables::roc_auc(probabilities, truth, n_classes),
                 tables::accuracy(probabilities, truth, n_classes),
                 tables::log_loss(probabilities, truth, n_classes)};
  const auto n = static_cast<std::size_t>(n_classes);
  for (std::size_t row = 0; row < truth.size(); ++row) {
    const auto of_row = probabilities.subspan(row * n, n);
    const auto best = std::ranges::max_element(of_row);
    made.probabilities.push_back(*best);
    made.correct.push_back(best - of_row.begin() == truth[row]);
  }
  return made;
}

namespace {

struct Rows {
  Tensor x;  // (rows, features) f64
  Tensor y;  // (rows,) f64
  std::int64_t n_classes = 0;
  tables::Features features = {};
};

TableEvaluation evaluate_rows(TabularPredictor& predictor, const Rows& rows,
                              const tables::Halves& halves) {
  predictor.fit(index_select(rows.x, 0, halves.context), index_select(rows.y, 0, halves.context),
                rows.n_classes, rows.features);
  const Tensor truth = index_select(rows.y, 0, halves.query);
  const Tensor x = index_select(rows.x, 0, halves.query);
  if (!predictor.is_regression()) {
    return evaluate_classes(predictor.predict_proba(x).to_vector<double>(),
                            truth.to(DType::i64).to_vector<std::int64_t>(), rows.n_classes);
  }
  const TargetDistribution distribution = predictor.predict_distribution(x);
  const auto predicted = distribution.means.to_vector<double>();
  const auto numbers = truth.to_vector<double>();
  TableEvaluation made;
  made.scores = {tables::root_mean_squared_error(predicted, numbers),
                 tables::mean_absolute_error(predicted, numbers), tables::r2(predicted, numbers)};
  made.probabilities = distribution.below(numbers);
  return made;
}

TabularPredictor without_ensemble(TabularTransformer& model) {
  const std::shared_ptr<TabularTransformer> borrowed(std::shared_ptr<void>(), &model);
  PredictorOptions options;
  options.n_estimators = 1;
  return {borrowed, options};
}

// Dataset k of a batch, without padding.
std::pair<Rows, tables::Halves> rows_of_dataset(const Tables& datasets, std::int64_t k,
                                                bool regression) {
  const auto sizes = datasets.sizes.select(0, k).to(Device::cpu()).to_vector<std::int64_t>();
  const std::int64_t n_rows = sizes[0];
  const std::int64_t n_features = sizes[1];
  const std::int64_t n_context = sizes[2];
  const auto on_host = [&](const Tensor& of) {
    return of.select(0, k).slice(0, 0, n_rows).contiguous().to(Device::cpu()).to(DType::f64);
  };
  Rows rows{on_host(datasets.x).slice(1, 0, n_features).contiguous(), on_host(datasets.y)};
  if (!regression) {
    const auto classes = rows.y.to_vector<double>();
    rows.n_classes = static_cast<std::int64_t>(*std::ranges::max_element(classes)) + 1;
  }
  return {rows, {arange(0, n_context, 1, DType::i64), arange(n_context, n_rows, 1, DType::i64)}};
}

}  // namespace

TableEvaluation evaluate_halves(TabularPredictor& predictor, const tables::LabelledTable& table,
                                const tables::Halves& halves) {
  return evaluate_rows(predictor, {table.x, table.y, table.n_classes(), table.features}, halves);
}

double Evaluation::score() const {
  double sum = 0;
  for (const TableEvaluation& table : tables) sum += table.scores[regression ? 2 : 0];
  return sum / static_cast<double>(tables.size());
}

std::string Evaluation::to_json() const {
  const std::vector<std::string> names = score_names(regression);
  nlohmann::ordered_json json{
      {"about", about}, {"score", names[regression ? 2 : 0]}, {"metrics", names}};
  json["tables"] = nlohmann::ordered_json::array();
  for (const TableEvaluation& table : tables) {
    nlohmann::ordered_json scores;
    for (std::size_t i = 0; i < names.size(); ++i) scores[names[i]] = table.scores[i];
    json["tables"].push_back({{"name", table.name},
                              {"size", table.size},
                              {"scores", std::move(scores)},
                              {"probabilities", table.probabilities},
                              {"correct", table.correct}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Evaluation evaluate_datasets(TabularTransformer& model, const Tables& datasets) {
  constexpr std::int64_t kMost = 32;
  TabularPredictor predictor = without_ensemble(model);
  Evaluation evaluation;
  evaluation.regression = predictor.is_regression();
  evaluation.about =
      "Datasets of the prior that the model was not trained on: the rows after the context rows "
      "are "
      "predicted, without an ensemble.";
  TableEvaluation all{"new datasets of the prior", "", std::vector<double>(3, 0), {}, {}};
  std::vector<double> counts(3, 0);
  const std::int64_t n_datasets = std::min(datasets.x.size(0), kMost);
  for (std::int64_t k = 0; k < n_datasets; ++k) {
    const auto [rows, halves] = rows_of_dataset(datasets, k, evaluation.regression);
    const TableEvaluation one = evaluate_rows(predictor, rows, halves);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool has_unit = evaluation.regression && i < 2;  // RMSE and MAE of different targets
      if (has_unit || !std::isfinite(one.scores[i])) continue;
      all.scores[i] += one.scores[i];
      counts[i] += 1;
    }
    all.probabilities.insert(all.probabilities.end(), one.probabilities.begin(),
                             one.probabilities.end());
    all.correct.insert(all.correct.end(), one.correct.begin(), one.correct.end());
  }
  for (std::size_t i = 0; i < counts.size(); ++i) all.scores[i] /= counts[i];  // NaN: not scored
  all.size = fmt::format("{} datasets, {} rows", n_datasets, all.probabilities.size());
  evaluation.tables.push_back(std::move(all));
  return evaluation;
}

Evaluation evaluate_tables(TabularTransformer& model,
                           const std::vector<std::pair<std::string, tables::LabelledTable>>& tables,
                           std::uint64_t seed) {
  TabularPredictor predictor = without_ensemble(model);
  Generator generator(seed);
  Evaluation evaluation;
  evaluation.regression = predictor.is_regression();
  evaluation.about =
      "One random half of each table is the context, the other half is predicted, without an "
      "ensemble.";
  for (const auto& [name, table] : tables) {
    const tables::Halves halves = tables::halve(table.strata(), generator);
    TableEvaluation made = evaluate_halves(predictor, table, halves);
    made.name = name;
    made.size = fmt::format("{} rows, {} features", table.n_rows(), table.features.names.size());
    if (table.n_classes() > 0) made.size += fmt::format(", {} classes", table.n_classes());
    evaluation.tables.push_back(std::move(made));
  }
  return evaluation;
}

}  // namespace causeway::models
