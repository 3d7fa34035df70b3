// A gallery of datasets as one HTML page that needs nothing else: for each a scatter of its two
// most telling columns (or the target over the most telling one), the graph behind it, marginals,
// facts, and the command that makes it again.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

// A node of the graph that made a dataset.
struct GalleryNode {
  int id = 0;
  std::vector<int> parents;
  std::string what;   // its mechanism, in words
  int n_columns = 0;  // features read from it
  bool is_target = false;
};

struct GalleryColumn {
  std::string name;
  std::string kind;
  std::vector<float> values;  // NaN where one is missing
};

struct GalleryDataset {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::string command;
  int n_classes = 0;  // 0: the target is a number
  std::vector<GalleryColumn> features;
  std::vector<float> target;
  std::vector<GalleryNode> nodes;
};

struct GalleryPage {
  std::string title;
  std::string about;
  std::string command;  // that makes the page again
  std::vector<GalleryDataset> datasets;
};

// Well-formed as XML too.
std::string gallery_html(const GalleryPage& page);

}  // namespace causeway::report
