// What a dataset covers: facts, bar lists, histograms and tables of counts shaded by their size.
#pragma once

#include "causeway/report/html.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

using CountList = std::vector<std::pair<std::string, std::int64_t>>;  // name and count

struct CoverageBars {
  std::string title;
  CountList counts;
};

struct CoverageHistogram {
  std::string title;
  std::string axis;                                           // what is counted along it
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;  // value and count, values ascending
};

struct CoverageTable {
  std::string id;
  std::string title;
  std::string lead;
  std::vector<std::string> columns;
  struct Row {
    std::string name;
    std::vector<std::int64_t> counts;  // by column
  };
  std::vector<Row> rows;
};

struct CoveragePage {
  std::string title;
  std::string lead;
  Facts facts;
  std::vector<CoverageBars> bars;
  std::vector<CoverageHistogram> histograms;
  std::vector<CoverageTable> tables;
};

std::string coverage_html(const CoveragePage& page);

}  // namespace causeway::report
