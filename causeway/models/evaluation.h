// Scores a model on labelled tables: one half of the rows is context, the other is predicted.
#pragma once

#include "causeway/models/predictor.h"
#include "causeway/tables/labelled.h"
#include "causeway/tables/split.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::models {

// roc_auc, accuracy and log_loss; rmse, mae and r2 for regression.
std::vector<std::string> score_names(bool regression);

// Throws invalid_argument, naming `path`, if the table has too few rows or classes to be split.
void require_splittable(const std::string& path, const tables::LabelledTable& table);

// Fits the predictor to the context rows and scores the query rows, in the order of score_names.
std::vector<double> score_halves(TabularPredictor& predictor, const tables::LabelledTable& table,
                                 const tables::Halves& halves);

// The mean ROC AUC over tables, or R² for regression, with one split per table and no ensemble.
double mean_score(TabularTransformer& model, const std::vector<tables::LabelledTable>& tables,
                  std::uint64_t seed);

}  // namespace causeway::models
