// The page of a training run: loss curve, throughput, scores on tables, calibration, datasets of
// the prior, samples of text, settings and the commands that reproduce it. Parts without data are
// left out.
#pragma once

#include "causeway/report/calibration.h"
#include "causeway/report/curves.h"
#include "causeway/report/html.h"
#include "causeway/report/scores.h"

#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

struct RunPage {
  std::string name;  // of the run, on pages that compare several
  std::string title;
  std::string lead;
  Facts facts;
  std::string loss_lead;  // what the loss is
  Series losses;
  Series validation;       // losses on held-out data
  std::string score_name;  // the metric of score_curve, such as "mean ROC AUC"
  Series score_curve;      // on evaluation tables
  Series rates;            // tokens per second
  Series memory;           // peak bytes on the device
  Scores scores;
  std::vector<Calibration> calibration;
  std::string gallery;                                  // HTML page, or empty
  std::vector<std::pair<double, std::string>> samples;  // text by step
  Facts settings;
  std::vector<std::string> commands;
};

std::string run_html(const RunPage& page);

}  // namespace causeway::report
