// Samples of rows that keep the share of every class.
#pragma once

#include "causeway/tensor/create.h"

#include <cstdint>
#include <span>
#include <vector>

namespace causeway::tables {

// `count` row numbers, ascending: of every class (codes from 0 up) its share, and at least one row
// of each where there is room.
std::vector<std::int64_t> stratified_sample(std::span<const std::int64_t> classes,
                                            std::int64_t count, Generator& generator);

// `count` row numbers, ascending, drawn in proportion to the weights (0 or more, not all 0): each
// row occurs as often as its share of the weights demands, rounded up or down at random. Equal
// weights and a count of all rows give every row once. Every class has its share of the weights.
std::vector<std::int64_t> weighted_sample(std::span<const double> weights,
                                          std::span<const std::int64_t> classes, std::int64_t count,
                                          Generator& generator);

// Context rows and query rows, i64, ascending.
struct Halves {
  Tensor context;
  Tensor query;
};

// Splits all rows into `n_context` context rows and query rows, stratified by class; for regression
// all classes are 0.
Halves split(std::span<const std::int64_t> classes, std::int64_t n_context, Generator& generator);
// In two halves.
Halves halve(std::span<const std::int64_t> classes, Generator& generator);

}  // namespace causeway::tables
