// How well a model tells one half of a table by the other: for `causeway evaluate`, and for
// `causeway pretrain` on the way.
#pragma once

#include "cli/predict_input.h"

#include "causeway/models/predictor.h"

namespace causeway::cli {

// Rows to learn from, and rows to tell.
struct Halves {
  Tensor known;
  Tensor asked;
};

// Drawn so that both have their share of every class.
Halves halve(const TableReader& table, bool regression, Generator& generator);

// Throws where a table cannot be halved.
void require_two(const std::string& path, const TableReader& table, bool regression);

// The mean over tables of the area under the ROC curve, or of r2, of one halving each.
double mean_score(models::TabularTransformer& model, const std::vector<TableReader>& tables,
                  std::uint64_t seed);

}  // namespace causeway::cli
