// The page of predictions for a user's table: what was predicted, how good the predictions are on
// labelled rows that were held back, and which columns matter.
#pragma once

#include "causeway/report/calibration.h"
#include "causeway/report/scores.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

struct PredictedRow {
  std::string prediction;
  double probability = 1;          // of the predicted class
  std::vector<std::string> cells;  // of PredictionPage::shown_columns
};

struct PredictionPage {
  std::string target;
  std::string lead;
  bool regression = false;
  std::int64_t n_rows = 0;  // predicted
  // Classes and how many rows were predicted as each; for numbers, intervals.
  std::vector<std::pair<std::string, std::int64_t>> counts;
  std::vector<std::string> shown_columns;
  std::vector<PredictedRow> rows;  // the first ones
  // On rows that were held back; without tables: none were.
  std::string held_back;  // how many
  Scores scores;
  Calibration calibration;
  std::vector<std::pair<std::string, double>> importance;  // of columns, in nats
  std::string command;
};

std::string prediction_html(const PredictionPage& page);

}  // namespace causeway::report
