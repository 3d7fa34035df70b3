// The page of `causeway predict --html`.
#pragma once

#include "cli/predict_options.h"

#include "causeway/models/tabular.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::cli {

// The predicted classes with their probabilities, or the predicted numbers.
struct Predictions {
  std::string target;
  std::vector<std::string> classes;    // none for numbers
  std::vector<double> values;          // probabilities row by row, or numbers
  std::vector<double> quantiles = {};  // if there are several numbers per row

  std::span<const double> probabilities(std::size_t row) const {
    return std::span(values).subspan(row * classes.size(), classes.size());
  }
  const std::string& best_class(std::size_t row) const {
    const auto of_row = probabilities(row);
    return classes[static_cast<std::size_t>(std::ranges::max_element(of_row) - of_row.begin())];
  }
  std::size_t n_rows() const {
    return values.size() / std::max<std::size_t>(classes.size() + quantiles.size(), 1);
  }
};

// Predictions for `test`, and the quality of predictions on a quarter of the labelled rows.
std::string prediction_page(const PredictOptions& given, const tables::Table& train,
                            const tables::Table& test, const Predictions& predictions,
                            const std::shared_ptr<models::TabularTransformer>& model,
                            const std::string& command);

}  // namespace causeway::cli
