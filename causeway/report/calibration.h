// Calibration of a classifier: of the rows predicted with 80% confidence, are 80% correct?
#pragma once

#include <vector>

namespace causeway::report {

struct Answer {
  double confidence = 0;  // probability of the predicted class
  bool correct = false;
};

// Rows whose confidence lies in [low, high).
struct ReliabilityBin {
  double low = 0;
  double high = 0;
  std::size_t count = 0;
  double confidence = 0;  // mean
  double accuracy = 0;
};

// Ten bins of equal width; those without rows are left out.
std::vector<ReliabilityBin> reliability(const std::vector<Answer>& answers);

// The mean distance of confidence and accuracy over rows (expected calibration error).
double calibration_error(const std::vector<ReliabilityBin>& bins);

}  // namespace causeway::report
