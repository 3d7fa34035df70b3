#include "causeway/data/array_file.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::data {

int find_column(const ArrayLayout& layout, std::string_view name) {
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace causeway::data
