// `causeway prior stats`: statistics of a sample of datasets, compared with a reference.
#include "cli/options.h"
#include "cli/prior.h"
#include "cli/prior_options.h"
#include "cli/progress.h"
#include "cli/text_table.h"

#include "causeway/train/dataset_statistics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct StatsOptions {
  PriorOptions prior;
  std::uint64_t first = 0;
  std::int64_t count = 200;
};

// The reference is TabICL's second prior, measured on 220 datasets accepted of 328: 1024 rows, 1 to
// 100 features, 2 to 10 classes.
struct Line {
  std::string name;  // in the table
  std::string key;   // in JSON
  double value;
  std::optional<double> reference;
};

using train::DatasetStatistics;

void add_classes(const DatasetStatistics& of, std::vector<Line>& lines) {
  using train::mean;
  using train::quantile;
  if (of.classes.empty()) return;
  const auto n = static_cast<double>(of.classes.size());
  lines.insert(
      lines.end(),
      {{"number of classes, mean", "classes_mean", mean(of.classes), 5.6},
       {"datasets with all requested classes, fraction", "all_classes_share",
        static_cast<double>(of.n_all_classes) / n, 0.86},
       {"majority class fraction, mean", "majority_mean", mean(of.majority), 0.43},
       {"majority class fraction, 10% quantile", "majority_q10", quantile(of.majority, 0.1), 0.21},
       {"majority class fraction, median", "majority_q50", quantile(of.majority, 0.5), 0.38},
       {"majority class fraction, 90% quantile", "majority_q90", quantile(of.majority, 0.9), 0.70},
       {"minority class fraction, 10% quantile", "minority_q10", quantile(of.minority, 0.1), 0.011},
       {"minority class fraction, median", "minority_q50", quantile(of.minority, 0.5), 0.061},
       {"minority class fraction, 90% quantile", "minority_q90", quantile(of.minority, 0.9),
        0.277}});
}

// Fractions of all attempts. The reference lacks some of the reasons.
void add_rejections(const DatasetStatistics& of, std::vector<Line>& lines) {
  const auto attempts = static_cast<double>(of.n_attempts);
  lines.push_back({"accepted attempts, fraction", "accepted_share",
                   static_cast<double>(of.n_datasets()) / attempts, 220.0 / 328.0});
  const auto& reasons = prior::rejection_reasons();
  for (std::size_t r = 0; r < reasons.size(); ++r) {
    std::optional<double> reference;
    if (reasons[r] == "no features") reference = 6.0 / 328.0;
    if (reasons[r] == "classes of the split") reference = 25.0 / 328.0;
    if (reasons[r] == "unpredictable") reference = 77.0 / 328.0;
    if (of.rejected[r] == 0 && !reference) continue;
    std::string key = "rejected_" + reasons[r];
    std::replace(key.begin(), key.end(), ' ', '_');
    lines.push_back({fmt::format("rejected attempts, fraction: {}", reasons[r]), key,
                     static_cast<double>(of.rejected[r]) / attempts, reference});
  }
}

std::vector<Line> lines_of(const DatasetStatistics& of) {
  using train::mean;
  using train::quantile;
  std::vector<Line> lines = {
      {"features, mean", "features_mean", mean(of.features), 51.0},
      {"features, 10% quantile", "features_q10", quantile(of.features, 0.1), std::nullopt},
      {"features, 90% quantile", "features_q90", quantile(of.features, 0.9), std::nullopt}};
  add_classes(of, lines);
  lines.push_back({"columns with at most 20 distinct values, fraction", "few_distinct_mean",
                   mean(of.few_distinct), 0.46});
  lines.push_back({"columns with over 900 distinct values per 1024 rows, fraction",
                   "many_distinct_mean", mean(of.many_distinct), 0.36});
  if (mean(of.missing) > 0) {
    lines.push_back({"missing cells, fraction", "missing_mean", mean(of.missing), std::nullopt});
  }
  if (!of.bayes_error.empty()) {
    lines.push_back({"Bayes error of sampled classes, mean", "bayes_error_mean",
                     mean(of.bayes_error), std::nullopt});
  }
  add_rejections(of, lines);
  return lines;
}

std::string number(double value) {
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.3f}", value);
}

void print_text(const std::vector<Line>& lines, const DatasetStatistics& of,
                const prior::Prior& prior) {
  TextTable table({{fmt::format("{} datasets of {}, seed {}", of.n_datasets(),
                                prior.config().family, prior.config().seed)},
                   {"value", TextTable::Align::right},
                   {"reference", TextTable::Align::right}});
  for (const Line& line : lines) {
    table.add_row({line.name, number(line.value), line.reference ? number(*line.reference) : ""});
  }
  fmt::print(
      "{}\nreference: TabICL's graph prior, 1024 rows, 1:100 features, 2:10 classes, all "
      "filters\n",
      table.to_string());
}

void print_json(const std::vector<Line>& lines, const DatasetStatistics& of,
                const prior::Prior& prior) {
  using Json = nlohmann::ordered_json;
  Json json{{"prior", Json::parse(prior.config().to_json())},
            {"seed", prior.config().seed},
            {"n_datasets", of.n_datasets()},
            {"n_attempts", of.n_attempts},
            {"statistics", Json::object()},
            {"reference", Json::object()}};
  for (const Line& line : lines) {
    json["statistics"][line.key] = line.value;
    json["reference"][line.key] = line.reference ? Json(*line.reference) : Json();
  }
  fmt::print("{}\n", json.dump(2));
}

void run(const StatsOptions& options) {
  const prior::Prior prior = options.prior.make();
  const train::Sample sample(prior, options.first, options.count);
  DatasetStatistics statistics;
  {
    Progress progress("datasets", options.prior.quiet);
    const std::int64_t step = sample.default_batch();
    for (std::int64_t j = 0; j < sample.size(); j += step) {
      const std::int64_t n = std::min(step, sample.size() - j);
      statistics.add(sample.generate(j, n));
      progress.update(j + n, sample.size());
    }
  }
  const std::vector<Line> lines = lines_of(statistics);
  options.prior.json ? print_json(lines, statistics, prior) : print_text(lines, statistics, prior);
}

}  // namespace

void add_prior_stats(CLI::App& prior) {
  CLI::App* command = prior.add_subcommand(
      "stats", "Show statistics of a sample of datasets, compared with a reference");
  const auto options = std::make_shared<StatsOptions>();
  add_count(*command, "--count", options->count, "Number of datasets")->check(at_least_one());
  add_count(*command, "--first", options->first, "Index of the first dataset");
  options->prior.add_to(*command);
  command->callback([options] {
    if (!options->prior.printed()) run(*options);
  });
}

}  // namespace causeway::cli
