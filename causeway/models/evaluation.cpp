#include "causeway/models/evaluation.h"

#include "causeway/tables/scores.h"
#include "causeway/tensor/indexing.h"

namespace causeway::models {

std::vector<std::string> score_names(bool regression) {
  if (regression) return {"rmse", "mae", "r2"};
  return {"roc_auc", "accuracy", "log_loss"};
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
  const auto shares = predictor.predict_proba(query).to_vector<double>();
  const auto classes = truth.to(DType::i64).to_vector<std::int64_t>();
  const std::int64_t n = table.n_classes();
  return {tables::roc_auc(shares, classes, n), tables::accuracy(shares, classes, n),
          tables::log_loss(shares, classes, n)};
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
