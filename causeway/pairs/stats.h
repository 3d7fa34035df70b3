// What a set of records covers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

namespace causeway::pairs {

class Statistics {
 public:
  // Throws a format error for what is not a record; `place` is named in it.
  void add(std::string_view record, const std::string& place);

  // {"records", "categories", "ops", …} as JSON text: counts by name, lengths as quantiles and
  // counts.
  std::string to_json() const;
  std::string to_text() const;
  // One for each structure, sorted: "0123456789abcdef".
  const std::set<std::string>& structures() const { return structures_; }

 private:
  using Counts = std::map<std::string, std::int64_t, std::less<>>;
  using Lengths = std::map<std::int64_t, std::int64_t>;  // records by number of lines

  std::int64_t records_ = 0;
  Counts categories_;
  Counts splits_;
  Counts difficulty_;
  Counts tolerance_;
  Counts gradient_;    // checked, unchecked or none
  Counts ops_;         // records that use the operation
  Counts constructs_;  // records that use the construct
  Counts types_;       // records with a parameter of the type
  std::map<std::string, Counts, std::less<>> ops_by_type_;
  std::map<std::string, Counts, std::less<>> ops_by_construct_;
  Lengths python_lines_;
  Lengths cuda_lines_;
  std::set<std::string> structures_;
  std::unordered_set<std::string> clusters_;
};

}  // namespace causeway::pairs
