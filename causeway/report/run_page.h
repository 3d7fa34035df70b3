// The page of a training run: loss curve, throughput, scores on tables, calibration, datasets of
// the prior, samples of text, settings and the commands that reproduce it. Parts without data are
// left out.
#pragma once

#include "causeway/report/calibration.h"
#include "causeway/report/html.h"

#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

struct ScoreTable {
  std::string name;
  std::string note;  // such as "150 rows, 4 features, 3 classes"
  // By metric, one value for each method.
  std::vector<std::vector<double>> values;
};

struct Metric {
  std::string name;
  bool lower_is_better = false;
};

struct Scores {
  std::string lead;  // how they were measured
  std::vector<std::string> methods;
  std::vector<Metric> metrics;
  std::vector<ScoreTable> tables;  // the page adds their mean
};

struct RunPage {
  std::string title;
  std::string lead;
  Facts facts;
  std::string loss_lead;  // what the loss is
  // By step; values that are not finite are left out.
  std::vector<std::pair<double, double>> losses;
  std::vector<std::pair<double, double>> validation;  // losses on held-out data
  std::vector<std::pair<double, double>> rates;       // tokens per second
  Scores scores;
  std::vector<std::pair<std::string, std::vector<Answer>>> calibration;  // by method
  std::string gallery;                                                   // HTML page, or empty
  std::vector<std::pair<double, std::string>> samples;                   // by step
  Facts settings;
  std::vector<std::string> commands;
};

std::string run_html(const RunPage& page);

// "1,234,567"
std::string grouped(double value);

}  // namespace causeway::report
