#include "cli/text_table.h"

#include "causeway/core/shown.h"

#include <algorithm>

namespace causeway::cli {

namespace {

// The number of characters of UTF-8 text.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextTable::to_string() const {
  std::vector<std::vector<std::string>> lines;
  const auto titled = [](const Column& column) { return !column.title.empty(); };
  if (std::any_of(columns_.begin(), columns_.end(), titled)) {
    for (const Column& column : columns_) lines.resize(1), lines[0].push_back(column.title);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  for (auto& line : lines) {
    for (std::string& cell : line) cell = printable(cell);
  }

  std::vector<std::size_t> widths(columns_.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], width(line[i]));
    }
  }

  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i) {
      const std::string space(widths[i] - width(line[i]), ' ');
      if (i > 0) row += "  ";
      row += columns_[i].align == Align::left ? line[i] + space : space + line[i];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace causeway::cli
