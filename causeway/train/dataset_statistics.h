// Summary statistics of a sample of datasets, by which priors are compared.
#pragma once

#include "causeway/train/sample.h"

#include <cstdint>
#include <vector>

namespace causeway::train {

// Each list has one number per dataset; those about classes only for classification.
struct DatasetStatistics {
  std::vector<double> features;
  std::vector<double> classes;        // number of classes that occur
  std::vector<double> majority;       // fraction of rows in the largest class
  std::vector<double> minority;       // in the smallest class that occurs
  std::vector<double> few_distinct;   // fraction of columns with at most 20 distinct values
  std::vector<double> many_distinct;  // with more than 900 per 1024 rows
  std::vector<double> missing;        // fraction of cells
  std::vector<double> bayes_error;    // for sampled classes
  std::int64_t n_all_classes = 0;     // datasets in which every requested class occurs
  std::int64_t n_attempts = 0;
  std::vector<std::int64_t> rejected;  // in the order of prior::rejection_reasons

  void add(const HostBatch& batch);
  std::int64_t n_datasets() const { return static_cast<std::int64_t>(features.size()); }
};

// 0 if empty.
double mean(const std::vector<double>& values);
// With linear interpolation, as in NumPy.
double quantile(std::vector<double> values, double probability);

}  // namespace causeway::train
