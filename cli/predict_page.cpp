#include "cli/predict_page.h"

#include "causeway/models/evaluation.h"
#include "causeway/report/chart.h"
#include "causeway/report/prediction_page.h"
#include "causeway/tables/cells.h"
#include "causeway/tables/scores.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>

namespace causeway::cli {

namespace {

constexpr std::int64_t kFewestRows = 8;  // labelled, to hold some back
constexpr std::int64_t kMostHeldBack = 1000;
constexpr std::size_t kShownRows = 100;
constexpr std::size_t kShownColumns = 4;

// What is predicted without looking at the features: the classes' frequencies, or the mean.
models::TableEvaluation baseline(const tables::LabelledTable& table, const tables::Halves& halves) {
  const auto seen = index_select(table.y, 0, halves.context).to_vector<double>();
  const Tensor truth = index_select(table.y, 0, halves.query);
  const auto n_query = static_cast<std::size_t>(truth.size(0));
  if (table.n_classes() > 0) {
    std::vector<double> shares(static_cast<std::size_t>(table.n_classes()), 0);
    for (const double y : seen) {
      shares[static_cast<std::size_t>(y)] += 1 / static_cast<double>(seen.size());
    }
    std::vector<double> probabilities;
    for (std::size_t row = 0; row < n_query; ++row) {
      probabilities.insert(probabilities.end(), shares.begin(), shares.end());
    }
    return models::evaluate_classes(probabilities, truth.to(DType::i64).to_vector<std::int64_t>(),
                                    table.n_classes());
  }
  const double mean =
      std::accumulate(seen.begin(), seen.end(), 0.0) / static_cast<double>(seen.size());
  const std::vector<double> predicted(n_query, mean);
  const auto numbers = truth.to_vector<double>();
  models::TableEvaluation made;
  made.scores = {tables::root_mean_squared_error(predicted, numbers),
                 tables::mean_absolute_error(predicted, numbers), tables::r2(predicted, numbers)};
  return made;
}

void add_scores(const models::TableEvaluation& model, const models::TableEvaluation& simple,
                const std::string& size, report::PredictionPage& page) {
  page.scores.lead =
      page.regression
          ? "RMSE and MAE are in units of the target, lower is better; for R², higher is "
            "better."
          : "Higher is better for ROC AUC and accuracy, lower for log loss.";
  page.scores.methods = {"model", page.regression ? "mean of the target" : "class frequencies"};
  report::ScoreTable row{"held-back rows", size, {}};
  const auto names = models::score_names(page.regression);
  for (std::size_t i = 0; i < names.size(); ++i) {
    page.scores.metrics.push_back(report::metric_of(names[i]));
    row.values.push_back({model.scores[i], simple.scores[i]});
  }
  page.scores.tables = {std::move(row)};
  page.calibration.method = "model";
  for (std::size_t i = 0; i < model.probabilities.size(); ++i) {
    if (page.regression) {
      page.calibration.levels.push_back(std::fabs(2 * model.probabilities[i] - 1));
    } else {
      page.calibration.answers.push_back({model.probabilities[i], model.correct[i]});
    }
  }
}

// How much the predictions for the held-back rows change without each column. Features of one
// column, such as those of a date, are left out together.
void add_importance(models::TabularPredictor& predictor, const tables::LabelledTable& table,
                    const Tensor& query, const models::ProgressHook& progress,
                    report::PredictionPage& page) {
  std::vector<std::vector<std::int64_t>> groups;
  for (std::size_t i = 0; i < table.features.names.size(); ++i) {
    if (i == 0 || table.features.names[i] != table.features.names[i - 1]) {
      groups.emplace_back();
      page.importance.emplace_back(table.features.names[i], 0);
    }
    groups.back().push_back(static_cast<std::int64_t>(i));
  }
  const auto changes = predictor.importance(query, groups, progress).to_vector<double>();
  for (std::size_t k = 0; k < changes.size(); ++k) page.importance[k].second = changes[k];
}

// Fits a predictor to three quarters of the labelled rows and scores it on the others.
void add_held_back(const PredictOptions& given, const tables::Table& train,
                   const std::shared_ptr<models::TabularTransformer>& model,
                   report::PredictionPage& page) {
  const tables::LabelledTable table(train, given.target, page.regression);
  const std::int64_t n_rows = table.n_rows();
  if (n_rows < kFewestRows || table.n_classes() == 1) {
    page.held_back = fmt::format(
        "There are too few labelled rows or classes to hold some rows back: {} rows, {} classes.",
        n_rows, table.n_classes());
    return;
  }
  const std::int64_t n_query = std::min(n_rows / 4, kMostHeldBack);
  Generator generator(given.predictor.seed);
  const tables::Halves halves = tables::split(table.strata(), n_rows - n_query, generator);
  models::TabularPredictor predictor(model, given.predictor);
  const auto evaluation = models::evaluate_halves(predictor, table, halves);
  page.held_back =
      fmt::format("{} of the {} labelled rows were held back, and predicted from the other {}.",
                  n_query, n_rows, n_rows - n_query);
  add_scores(evaluation, baseline(table, halves), fmt::format("{} rows", n_query), page);
  Progress progress("columns", given.quiet);
  add_importance(predictor, table, index_select(table.x, 0, halves.query), bar_of(progress), page);
}

// Rows by predicted class, or by intervals of round numbers.
void add_counts(const Predictions& predictions, report::PredictionPage& page) {
  if (!page.regression) {
    std::map<std::string, std::int64_t> counts;
    for (std::size_t row = 0; row < predictions.n_rows(); ++row)
      ++counts[predictions.best_class(row)];
    for (const std::string& name : predictions.classes)
      page.counts.emplace_back(name, counts[name]);
    return;
  }
  if (predictions.values.empty()) return;
  const auto [low, high] = std::ranges::minmax(predictions.values);
  std::vector<double> edges = report::round_numbers(low, high, 8);
  edges.insert(edges.begin(), -INFINITY);
  edges.push_back(INFINITY);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const auto count = std::ranges::count_if(predictions.values, [&](double value) {
      return value >= edges[i] && value < edges[i + 1];
    });
    const std::string name = std::isinf(edges[i + 1]) ? fmt::format("{:.6g} or more", edges[i])
                             : i == 0                 ? fmt::format("below {:.6g}", edges[1])
                                      : fmt::format("{:.6g} to {:.6g}", edges[i], edges[i + 1]);
    page.counts.emplace_back(edges.size() == 2 ? fmt::format("{:.6g}", low) : name, count);
  }
}

// The columns that matter most, else the first ones.
std::vector<std::int64_t> shown_columns(const tables::Table& test, const std::string& target,
                                        const report::PredictionPage& page) {
  std::vector<std::pair<std::string, double>> order = page.importance;
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.empty()) {
    for (const std::string& name : test.names()) order.emplace_back(name, 0);
  }
  std::vector<std::int64_t> columns;
  for (const auto& [name, change] : order) {
    if (columns.size() < kShownColumns && name != target) columns.push_back(test.find(name));
  }
  std::erase(columns, -1);
  return columns;
}

void add_rows(const tables::Table& test, const Predictions& predictions,
              report::PredictionPage& page) {
  page.rows.resize(std::min(predictions.n_rows(), kShownRows));
  for (std::size_t row = 0; row < page.rows.size(); ++row) {
    if (page.regression) {
      page.rows[row].prediction = fmt::format("{:.6g}", predictions.values[row]);
    } else {
      page.rows[row].prediction = predictions.best_class(row);
      page.rows[row].probability = std::ranges::max(predictions.probabilities(row));
    }
  }
  for (const std::int64_t at : shown_columns(test, predictions.target, page)) {
    page.shown_columns.push_back(test.column(at).name);
    const tables::Cells cells(test.column(at), test.n_rows());
    for (std::size_t row = 0; row < page.rows.size(); ++row) {
      const auto place = static_cast<std::int64_t>(row);
      page.rows[row].cells.push_back(cells.is_missing(place) ? "–" : cells.shown_value(place));
    }
  }
}

}  // namespace

std::string prediction_page(const PredictOptions& given, const tables::Table& train,
                            const tables::Table& test, const Predictions& predictions,
                            const std::shared_ptr<models::TabularTransformer>& model,
                            const std::string& command) {
  report::PredictionPage page;
  page.target = predictions.target;
  page.regression = predictions.classes.empty();
  page.n_rows = test.n_rows();
  page.lead = fmt::format(
      "{} rows, predicted from {} other rows by a transformer that was pre-trained on synthetic "
      "tables. It reads the labelled rows as context and is not trained on them.",
      test.n_rows(), train.n_rows());
  page.command = command;
  add_counts(predictions, page);
  add_held_back(given, train, model, page);
  add_rows(test, predictions, page);
  return report::prediction_html(page);
}

}  // namespace causeway::cli
