#include "causeway/models/importance.h"

#include "causeway/tables/scores.h"
#include "causeway/tensor/create.h"

namespace causeway::models {

namespace {

constexpr std::int64_t kShuffles = 3;

double error_of(TabularPredictor& predictor, const Tensor& x, const Tensor& y) {
  if (predictor.is_regression()) {
    return tables::root_mean_squared_error(predictor.predict_mean(x).to_vector<double>(),
                                           y.to_vector<double>());
  }
  const Tensor probabilities = predictor.predict_proba(x);
  return tables::log_loss(probabilities.to_vector<double>(),
                          y.to(DType::i64).to_vector<std::int64_t>(), probabilities.size(1));
}

}  // namespace

std::vector<double> permutation_importance(TabularPredictor& predictor, const Tensor& x,
                                           const Tensor& y, std::uint64_t seed,
                                           const std::function<void(std::int64_t)>& on_column) {
  const std::int64_t n_rows = x.size(0);
  const std::int64_t n_columns = x.size(1);
  const Tensor rows = x.contiguous();
  const double before = error_of(predictor, rows, y);
  Generator generator(seed);
  std::vector<double> increases;
  for (std::int64_t column = 0; column < n_columns; ++column) {
    double sum = 0;
    for (std::int64_t shuffle = 0; shuffle < kShuffles; ++shuffle) {
      const auto order = generator.permutation(n_rows).to_vector<std::int64_t>();
      const Tensor shuffled = rows.clone();
      double* to = shuffled.data_as<double>() + column;
      for (const std::int64_t from : order) {
        *to = rows.data_as<double>()[from * n_columns + column];
        to += n_columns;
      }
      sum += error_of(predictor, shuffled, y) - before;
    }
    increases.push_back(sum / kShuffles);
    if (on_column) on_column(column + 1);
  }
  return increases;
}

}  // namespace causeway::models
