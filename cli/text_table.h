// Prints tables: columns as wide as their widest cell, two spaces apart.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace causeway::cli {

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column; missing cells at the end are blank.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // The titles (unless all are blank), then the rows, each line ending in a newline.
  std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace causeway::cli
