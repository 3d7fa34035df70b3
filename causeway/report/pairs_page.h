// A gallery of kernel pairs: each kernel in Python, CUDA C++ and as its adjoint, side by side.
#pragma once

#include "causeway/report/html.h"

#include <string>
#include <vector>

namespace causeway::report {

struct PairCard {
  std::string id;
  std::string kernel;
  std::string category;
  int level = 1;
  std::string description;
  std::vector<std::string> checks;  // that it passed
  Facts facts;
  std::string python;
  std::string cuda;
  std::string adjoint;  // empty if there is none
  struct Form {
    std::string title;
    std::string text;
  };
  std::vector<Form> variants;  // equivalent CUDA kernels
  std::string mistake;         // of a wrong variant; empty if there is none
  std::string wrong_python;    // that variant
};

struct PairsPage {
  std::string title;
  std::string lead;
  std::string command;  // that reproduces the page
  std::vector<PairCard> pairs;
};

// One page with filters by category and level.
std::string pairs_html(const PairsPage& page);

}  // namespace causeway::report
