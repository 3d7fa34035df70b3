// Memory over time: one chart per pool, stacked by the names of allocations, and a table of peaks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace causeway::report {

struct MemoryChart {
  struct Moment {
    double ms = 0;
    std::vector<std::size_t> bytes;  // by name; missing at the end: 0
  };
  std::string pool;  // "cuda:0"
  std::vector<std::string> names;
  std::vector<Moment> moments;
};

std::string memory_html(const std::vector<MemoryChart>& charts);

}  // namespace causeway::report
