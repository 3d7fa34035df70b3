// Tables of scores: one or several methods, such as models, on one or several tables.
#pragma once

#include <string>
#include <vector>

namespace causeway::report {

struct Metric {
  std::string name;
  bool lower_is_better = false;
};

struct ScoreTable {
  std::string name;
  std::string note;  // such as "150 rows, 4 features, 3 classes"
  // By metric, one value for each method; NaN: not scored.
  std::vector<std::vector<double>> values;
};

struct Scores {
  std::string lead;  // how they were measured
  std::vector<std::string> methods;
  std::vector<Metric> metrics;
  std::vector<ScoreTable> tables;  // the page adds their mean
};

// The metric of a name of models::score_names, such as "roc_auc".
Metric metric_of(const std::string& name);

// One method: a column per metric. Several: a column per method, with the best value marked.
std::string scores_html(const Scores& scores);

}  // namespace causeway::report
