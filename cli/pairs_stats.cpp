// `causeway pairs stats`: what a dataset covers, as text, JSON or a page.
#include "cli/options.h"
#include "cli/pairs.h"

#include "causeway/core/config.h"
#include "causeway/core/file.h"
#include "causeway/pairs/dataset.h"
#include "causeway/pairs/stats.h"
#include "causeway/report/coverage_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct StatsOptions {
  std::string path;
  std::string html;
  std::string signatures;
  bool json = false;
};

// Names and counts, largest counts first.
report::CountList sorted(const Json& counts) {
  report::CountList list;
  for (const auto& [name, count] : counts.items()) list.emplace_back(name, count);
  std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

report::CoverageTable table_of(const Json& stats, const char* name, const char* columns,
                               const std::string& title) {
  report::CoverageTable table{name, title, "Number of records with both.", {}, {}};
  for (const auto& [column, count] : sorted(stats[columns])) table.columns.push_back(column);
  for (const auto& [op, total] : sorted(stats["ops"])) {
    report::CoverageTable::Row row{op, {}};
    const Json& counts = stats[name].contains(op) ? stats[name][op] : Json::object();
    for (const std::string& column : table.columns) row.counts.push_back(counts.value(column, 0));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string page_of(const Json& stats, const std::string& path) {
  report::CoveragePage page;
  page.title = "Coverage of kernel pairs";
  page.lead = path;
  for (const char* fact : {"records", "structures", "duplicates", "clusters"})
    page.facts.emplace_back(fact, stats[fact].dump());
  page.facts.emplace_back("operations", std::to_string(stats["ops"].size()));
  page.facts.emplace_back("types", std::to_string(stats["types"].size()));
  for (const auto& [name, title] : {std::pair{"python_lines", "Lines of Python"},
                                    std::pair{"cuda_lines", "Lines of CUDA C++"}}) {
    report::CoverageHistogram histogram{title, "lines", {}};
    if (stats[name].is_object()) histogram.counts = stats[name]["counts"];
    page.histograms.push_back(std::move(histogram));
  }
  report::CoverageBars difficulty{"Difficulty", {}};
  for (const auto& [level, count] : stats["difficulty"].items())
    difficulty.counts.emplace_back("level " + level, count);
  page.bars = {{"Category", sorted(stats["categories"])},
               std::move(difficulty),
               {"Construct", sorted(stats["constructs"])},
               {"Split", sorted(stats["splits"])},
               {"Tolerance", sorted(stats["tolerance"])}};
  page.tables = {table_of(stats, "ops_by_type", "types", "Operations and types of parameters"),
                 table_of(stats, "ops_by_construct", "constructs", "Operations and constructs")};
  return report::coverage_html(page);
}

void run(const StatsOptions& options) {
  pairs::Statistics statistics;
  pairs::read_records(options.path, [&](std::string_view line, const std::string& place) {
    statistics.add(line, place);
  });
  fmt::print("{}", options.json ? statistics.to_json() + "\n" : statistics.to_text());
  if (!options.signatures.empty()) {
    FileWriter file("pairs.stats", options.signatures);
    for (const std::string& structure : statistics.structures()) file.write(structure + "\n");
    file.commit();
  }
  if (options.html.empty()) return;
  FileWriter file("pairs.stats", options.html);
  file.write(page_of(Json::parse(statistics.to_json()), options.path));
  file.commit();
}

}  // namespace

void add_pairs_stats(CLI::App& pairs) {
  CLI::App* command = pairs.add_subcommand("stats", "Print what a dataset covers");
  const auto options = std::make_shared<StatsOptions>();
  add_records(*command, options->path);
  command->add_option("--html", options->html, "Also write a page of charts")->type_name("FILE");
  command
      ->add_option("--signatures", options->signatures,
                   "Also write the structures, for generate --exclude")
      ->type_name("FILE");
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
