// A page that compares training runs: curves in one chart, final values, scores on the tables that
// all runs were evaluated on, calibration, and the settings that differ.
#pragma once

#include "causeway/report/run_page.h"

#include <string>
#include <vector>

namespace causeway::report {

std::string comparison_html(const std::vector<RunPage>& runs);

}  // namespace causeway::report
