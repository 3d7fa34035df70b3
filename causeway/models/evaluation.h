// Scores a model on labelled tables: one half of the rows is context, the other is predicted.
#pragma once

#include "causeway/models/predictor.h"
#include "causeway/tables/labelled.h"
#include "causeway/tables/split.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causeway::models {

// roc_auc, accuracy and log_loss; rmse, mae and r2 for regression.
std::vector<std::string> score_names(bool regression);

// Throws invalid_argument, naming `path`, if the table has too few rows or classes to be split.
void require_splittable(const std::string& path, const tables::LabelledTable& table);

// The predictions for the query rows of a table.
struct TableEvaluation {
  std::string name;
  std::string size;            // "150 rows, 4 features, 3 classes"
  std::vector<double> scores;  // in the order of score_names
  // By query row: the probability of the predicted class, or, for regression, of numbers below the
  // target.
  std::vector<double> probabilities;
  std::vector<bool> correct;  // whether the predicted class is the target; empty for regression
};

// Scores the probabilities (rows, n_classes) of classes 0 to n_classes - 1.
TableEvaluation evaluate_classes(std::span<const double> probabilities,
                                 std::span<const std::int64_t> truth, std::int64_t n_classes);

// Fits the predictor to the context rows and scores the query rows. Sets no name and size.
TableEvaluation evaluate_halves(TabularPredictor& predictor, const tables::LabelledTable& table,
                                const tables::Halves& halves);

struct Evaluation {
  std::string about;  // what was predicted from what
  bool regression = false;
  std::vector<TableEvaluation> tables;

  // The mean ROC AUC over tables, or R² for regression.
  double score() const;
  // {"about", "score": "roc_auc", "metrics": ["roc_auc", …], "tables": [{"name", "size", "scores":
  // {"roc_auc": 0.9, …}, "probabilities": […], "correct": […]}, …]}
  std::string to_json() const;
};

// Evaluates a model on at most 32 generated datasets, from their context rows to their other rows.
Evaluation evaluate_datasets(TabularTransformer& model, const Tables& datasets);

// Evaluates a model with one split per table and no ensemble. The tables have names.
Evaluation evaluate_tables(TabularTransformer& model,
                           const std::vector<std::pair<std::string, tables::LabelledTable>>& tables,
                           std::uint64_t seed);

}  // namespace causeway::models
