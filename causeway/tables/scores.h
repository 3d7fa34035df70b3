// Scores of predictions, with scikit-learn's names and definitions.
#pragma once

#include <cstdint>
#include <span>

namespace causeway::tables {

// Probabilities are (rows, n_classes) in row-major order, classes 0 to n_classes - 1.
double accuracy(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes);
// The mean of -log of the true class's probability, which counts as 1e-15 at least.
double log_loss(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes);
// The area under the ROC curve; with more than two classes the mean over pairs of classes (one vs.
// one, macro average). NaN where fewer than two classes occur; throws where a probability is not
// finite.
double roc_auc(std::span<const double> probabilities, std::span<const std::int64_t> classes,
               std::int64_t n_classes);

double mean_absolute_error(std::span<const double> predicted, std::span<const double> truth);
double root_mean_squared_error(std::span<const double> predicted, std::span<const double> truth);
// The coefficient of determination; for a constant target 1 where it is predicted exactly, else 0.
double r2(std::span<const double> predicted, std::span<const double> truth);

}  // namespace causeway::tables
