// Calibration: of the rows predicted with 80% confidence, are 80% correct? Of the targets, are 80%
// in the interval that should contain 80%?
#pragma once

#include <string>
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

// The mean distance of level and coverage over levels 5%, 10% … 95%. The level of a row is that of
// the smallest central interval of its predicted distribution that contains the target.
double coverage_error(std::vector<double> levels);

// The predictions of one method on query rows: answers of a classifier, or levels of a regressor.
struct Calibration {
  std::string method;
  std::vector<Answer> answers;
  std::vector<double> levels;
};

// A card with a figure for each method that has rows; empty if there is none.
std::string calibration_html(const std::vector<Calibration>& methods);
// The paragraph above it.
const char* calibration_lead(bool regression);

}  // namespace causeway::report
