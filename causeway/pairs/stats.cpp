#include "causeway/pairs/stats.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace causeway::pairs {

namespace {

std::int64_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

Json lengths_json(const std::map<std::int64_t, std::int64_t>& lengths) {
  std::int64_t total = 0;
  Json counts = Json::array();
  for (const auto& [length, count] : lengths) {
    counts.push_back({length, count});
    total += count;
  }
  if (total == 0) return Json();
  const auto at = [&](double share) {
    std::int64_t left = static_cast<std::int64_t>(share * static_cast<double>(total - 1));
    for (const auto& [length, count] : lengths) {
      if ((left -= count) < 0) return length;
    }
    return lengths.rbegin()->first;
  };
  return {
      {"least", at(0)}, {"median", at(0.5)}, {"p90", at(0.9)}, {"most", at(1)}, {"counts", counts}};
}

}  // namespace

void Statistics::add(std::string_view text, const std::string& place) {
  const Json record = Json::parse(text, nullptr, false);
  try {
    if (record.is_discarded())
      throw Error(ErrorKind::format, fmt::format("[pairs] {}: not valid JSON", place));
    const Json& metadata = record.at("metadata");
    ++categories_[metadata.at("category")];
    ++splits_[metadata.at("split")];
    ++difficulty_[metadata.at("difficulty").dump()];
    ++tolerance_[metadata.at("verification").at("tolerance")];
    // Records of schema 2 do not have it.
    ++gradient_[metadata.at("verification").value("gradient", "unknown")];
    std::set<std::string> types;
    for (const Json& parameter : record.at("inputs").at(0).at("parameters"))
      types.insert(parameter.contains("fields") ? "struct"
                                                : parameter.at("type").get<std::string>());
    for (const std::string& type : types) ++types_[type];
    for (const auto& [op, count] : metadata.at("ops").items()) {
      ++ops_[op];
      for (const std::string& type : types) ++ops_by_type_[op][type];
      for (const auto& [construct, uses] : metadata.at("constructs").items())
        ++ops_by_construct_[op][construct];
    }
    for (const auto& [construct, count] : metadata.at("constructs").items())
      ++constructs_[construct];
    ++python_lines_[lines_of(record.at("python_source"))];
    ++cuda_lines_[lines_of(record.at("cuda_forward"))];
    structures_.insert(metadata.at("structure"));
    clusters_.insert(metadata.at("cluster"));
    ++records_;
  } catch (const Json::exception&) {
    throw Error(ErrorKind::format, fmt::format("[pairs] {}: not a record of kernel pairs", place));
  }
}

std::string Statistics::to_json() const {
  const Json json{{"records", records_},
                  {"structures", structures_.size()},
                  {"duplicates", records_ - static_cast<std::int64_t>(structures_.size())},
                  {"clusters", clusters_.size()},
                  {"categories", categories_},
                  {"splits", splits_},
                  {"difficulty", difficulty_},
                  {"tolerance", tolerance_},
                  {"gradient", gradient_},
                  {"types", types_},
                  {"constructs", constructs_},
                  {"ops", ops_},
                  {"ops_by_type", ops_by_type_},
                  {"ops_by_construct", ops_by_construct_},
                  {"python_lines", lengths_json(python_lines_)},
                  {"cuda_lines", lengths_json(cuda_lines_)}};
  return json.dump(2);
}

std::string Statistics::to_text() const {
  std::string text = fmt::format("{} records, {} structures, {} clusters\n", records_,
                                 structures_.size(), clusters_.size());
  const auto table = [&](const char* title, const Counts& counts) {
    text += fmt::format("\n{}\n", title);
    std::vector<std::pair<std::string, std::int64_t>> rows(counts.begin(), counts.end());
    std::ranges::stable_sort(rows,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    const std::int64_t most = rows.empty() ? 1 : rows.front().second;
    for (const auto& [name, count] : rows) {
      const auto bar = static_cast<std::size_t>(40 * count / most);
      text += fmt::format("  {:<16} {:>8}  {}\n", name, count, std::string(bar, '#'));
    }
  };
  table("category", categories_);
  table("split", splits_);
  table("difficulty", difficulty_);
  table("tolerance", tolerance_);
  table("gradient", gradient_);
  table("type of a parameter (records)", types_);
  table("construct (records)", constructs_);
  table("operation (records)", ops_);
  const Json python = lengths_json(python_lines_);
  const Json cuda = lengths_json(cuda_lines_);
  if (records_ > 0) {
    text += fmt::format("\nlines: Python {} to {}, median {}; CUDA {} to {}, median {}\n",
                        python["least"].dump(), python["most"].dump(), python["median"].dump(),
                        cuda["least"].dump(), cuda["most"].dump(), cuda["median"].dump());
  }
  return text;
}

}  // namespace causeway::pairs
