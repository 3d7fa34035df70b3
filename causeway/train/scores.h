// How good predictions are: the scores of scikit-learn's names.
#pragma once

#include <cstdint>
#include <span>

namespace causeway::train {

// Probabilities are (rows, n_classes) in row-major order, classes 0 to n_classes - 1.
double accuracy(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes);
// The mean of -log of the true class's probability, which counts as 1e-15 at least.
double log_loss(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes);
// The area under the ROC curve; of more than two classes the mean over pairs of them, either of
// which is told from the other by its own probability. NaN where fewer than two classes occur.
double roc_auc(std::span<const double> probabilities, std::span<const std::int64_t> classes,
               std::int64_t n_classes);

double mean_absolute_error(std::span<const double> said, std::span<const double> numbers);
double root_mean_squared_error(std::span<const double> said, std::span<const double> numbers);
// 1 less the share of the variance that is left; of a constant 0, or 1 where it was told.
double r2(std::span<const double> said, std::span<const double> numbers);

}  // namespace causeway::train
