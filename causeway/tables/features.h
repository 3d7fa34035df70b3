// Names and types of the features of an encoded table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::tables {

// Of each feature. Either may be empty: features without names, all of them numbers.
struct Features {
  std::vector<std::string> names = {};  // the column that it comes from
  std::vector<bool> categorical = {};   // whether its numbers are codes of categories

  bool is_categorical(std::int64_t position) const {
    const auto at = static_cast<std::size_t>(position);
    return at < categorical.size() && categorical[at];
  }
};

}  // namespace causeway::tables
