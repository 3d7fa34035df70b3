// Permutation importance of columns: how much larger the error of the predictions becomes when the
// values of one column are shuffled among the rows.
#pragma once

#include "causeway/models/predictor.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace causeway::models {

// By column, the increase of the log loss, or of the root mean squared error for regression: the
// mean over three shuffles. The predictor is fitted to other rows than x (rows, features) f64 and y
// (rows,) f64. `on_column` is called with the number of columns that are done.
std::vector<double> permutation_importance(TabularPredictor& predictor, const Tensor& x,
                                           const Tensor& y, std::uint64_t seed,
                                           const std::function<void(std::int64_t)>& on_column = {});

}  // namespace causeway::models
