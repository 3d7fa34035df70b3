#include "cli/table_scores.h"

#include "causeway/core/error.h"
#include "causeway/tensor/indexing.h"
#include "causeway/train/scores.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::cli {

Halves halve(const TableReader& table, bool regression, Generator& generator) {
  const std::int64_t n_rows = table.y().size(0);
  const std::vector<std::int64_t> classes =
      regression ? std::vector<std::int64_t>(static_cast<std::size_t>(n_rows), 0)
                 : table.y().to(DType::i64).to_vector<std::int64_t>();
  const auto known = models::stratified_sample(classes, n_rows / 2, generator);
  std::vector<std::int64_t> asked;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    if (!std::binary_search(known.begin(), known.end(), row)) asked.push_back(row);
  }
  const auto tensor = [](const std::vector<std::int64_t>& rows) {
    return Tensor::from<std::int64_t>(rows, {static_cast<std::int64_t>(rows.size())});
  };
  return {tensor(known), tensor(asked)};
}

void require_two(const std::string& path, const TableReader& table, bool regression) {
  if (table.y().size(0) >= 2 && (regression || table.classes().size() >= 2)) return;
  fail(ErrorKind::invalid_argument, "evaluate",
       fmt::format("\"{}\" has {} rows and {} classes; two are needed", path, table.y().size(0),
                   table.classes().size()));
}

double mean_score(models::TabularTransformer& model, const std::vector<TableReader>& tables,
                  std::uint64_t seed) {
  const std::shared_ptr<models::TabularTransformer> borrowed(std::shared_ptr<void>(), &model);
  models::PredictorOptions options;
  options.n_estimators = 1;
  models::TabularPredictor predictor(borrowed, options);
  const bool regression = model.config().is_regression();
  Generator generator(seed);
  double sum = 0;
  for (const TableReader& table : tables) {
    const Halves halves = halve(table, regression, generator);
    const auto n_classes = static_cast<std::int64_t>(table.classes().size());
    predictor.fit(index_select(table.x(), 0, halves.known),
                  index_select(table.y(), 0, halves.known), n_classes, table.names());
    const Tensor asked = index_select(table.x(), 0, halves.asked);
    const Tensor truth = index_select(table.y(), 0, halves.asked);
    sum += regression
               ? train::r2(predictor.numbers(asked).to_vector<double>(), truth.to_vector<double>())
               : train::roc_auc(predictor.probabilities(asked).to_vector<double>(),
                                truth.to(DType::i64).to_vector<std::int64_t>(), n_classes);
  }
  return sum / static_cast<double>(tables.size());
}

}  // namespace causeway::cli
