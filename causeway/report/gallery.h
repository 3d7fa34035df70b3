// A gallery of datasets as one HTML page: for each a scatter plot of its two most informative
// columns (or of the target over the most informative one), its causal graph with the mechanisms,
// marginals, facts, and the command that reproduces it.
#pragma once

#include "causeway/report/html.h"

#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

// A node of a dataset's causal graph.
struct GalleryNode {
  int id = 0;
  std::vector<int> parents;
  std::string what;   // its mechanism, as text
  int n_columns = 0;  // features read from it
  bool is_target = false;
};

struct GalleryColumn {
  std::string name;
  std::string kind;
  std::vector<float> values;  // NaN: missing
};

struct GalleryDataset {
  std::string title;
  std::string family;  // the page can show one family only
  Facts facts;
  std::string command;
  int n_classes = 0;  // 0: numeric target
  std::vector<GalleryColumn> features;
  std::vector<float> target;
  std::vector<GalleryNode> nodes;
};

struct GalleryPage {
  std::string title;
  std::string about;
  std::string command;  // that reproduces the page
  std::vector<GalleryDataset> datasets;
};

std::string gallery_html(const GalleryPage& page);

}  // namespace causeway::report
