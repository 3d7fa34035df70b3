#include "causeway/models/evaluation.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/scores.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>

namespace causeway::models {

std::vector<std::string> score_names(bool regression) {
  if (regression) return {"rmse", "mae", "r2"};
  return {"roc_auc", "accuracy", "log_loss"};
}

void require_splittable(const std::string& path, const tables::LabelledTable& table) {
  const bool has_two_classes = table.n_classes() != 1;  // 0 for regression
  if (table.n_rows() >= 2 && has_two_classes) return;
  fail(ErrorKind::invalid_argument, "evaluate",
       fmt::format("{} has {} labelled {}; expected at least 2", shown(path),
                   has_two_classes ? table.n_rows() : 1, has_two_classes ? "rows" : "class"));
}

std::vector<double> score_halves(TabularPredictor& predictor, const tables::LabelledTable& table,
                                 const tables::Halves& halves) {
  predictor.fit(index_select(table.x, 0, halves.context), index_select(table.y, 0, halves.context),
                table.n_classes(), table.names);
  const Tensor query = index_select(table.x, 0, halves.query);
  const Tensor truth = index_select(table.y, 0, halves.query);
  if (predictor.is_regression()) {
    const auto predicted = predictor.predict_mean(query).to_vector<double>();
    const auto numbers = truth.to_vector<double>();
    return {tables::root_mean_squared_error(predicted, numbers),
            tables::mean_absolute_error(predicted, numbers), tables::r2(predicted, numbers)};
  }
  const auto probabilities = predictor.predict_proba(query).to_vector<double>();
  const auto classes = truth.to(DType::i64).to_vector<std::int64_t>();
  const std::int64_t n = table.n_classes();
  return {tables::roc_auc(probabilities, classes, n), tables::accuracy(probabilities, classes, n),
          tables::log_loss(probabilities, classes, n)};
}

double mean_score(TabularTransformer& model, const std::vector<tables::LabelledTable>& tables,
                  std::uint64_t seed) {
  const std::shared_ptr<TabularTransformer> borrowed(std::shared_ptr<void>(), &model);
  PredictorOptions options;
  options.n_estimators = 1;
  TabularPredictor predictor(borrowed, options);
  Generator generator(seed);
  double sum = 0;
  for (const tables::LabelledTable& table : tables) {
    const tables::Halves halves = tables::halve(table.strata(), generator);
    const auto scores = score_halves(predictor, table, halves);
    sum += predictor.is_regression() ? scores[2] : scores[0];
  }
  return sum / static_cast<double>(tables.size());
}

}  // namespace causeway::models
