// What a sample of datasets looks like from afar: the numbers by which one prior is held against
// another.
#pragma once

#include "causeway/train/sample.h"

#include <cstdint>
#include <vector>

namespace causeway::train {

// One number a dataset in each list; those of classes only where there are classes.
struct Fingerprint {
  std::vector<double> features;
  std::vector<double> classes;        // that occur
  std::vector<double> majority;       // the largest class's share of the rows
  std::vector<double> minority;       // the smallest's, of those that occur
  std::vector<double> few_distinct;   // the share of columns with at most 20 values
  std::vector<double> many_distinct;  // with more than 900 in 1024 rows, or as many in proportion
  std::vector<double> missing;        // the share of cells
  std::vector<double> bayes_error;    // where classes were sampled
  std::int64_t n_all_classes = 0;     // datasets in which every class asked for occurs
  std::int64_t n_attempts = 0;
  std::vector<std::int64_t> rejected;  // in prior::rejection_reasons' order

  void add(const HostBatch& batch);
  std::int64_t n_datasets() const { return static_cast<std::int64_t>(features.size()); }
};

// 0 for no values.
double mean(const std::vector<double>& values);
// Between neighbours in proportion, as NumPy has it.
double quantile(std::vector<double> values, double share);

}  // namespace causeway::train
