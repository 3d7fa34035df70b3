// `causeway prior gallery`: an HTML page of datasets.
#include "cli/options.h"
#include "cli/prior.h"
#include "cli/prior_options.h"
#include "cli/progress.h"

#include "causeway/core/file.h"
#include "causeway/report/gallery.h"
#include "causeway/train/sample.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct GalleryOptions {
  PriorOptions prior;
  std::string out;
  std::uint64_t first = 0;
  std::int64_t count = 24;
};

std::vector<report::GalleryNode> nodes_of(const prior::Description& description) {
  std::vector<report::GalleryNode> nodes;
  for (const prior::Mechanism& mechanism : description.mechanisms) {
    report::GalleryNode node{mechanism.id, mechanism.parents, mechanism.what, 0,
                             mechanism.id == description.target.node};
    for (const prior::ColumnSource& column : description.features) {
      node.n_columns += column.node == mechanism.id;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts facts_of(const prior::Description& description, std::uint64_t hash) {
  const prior::DatasetFacts& facts = description.facts;
  Facts all = {{"rows", fmt::format("{}", facts.n_rows)},
               {"context rows", fmt::format("{}", facts.n_train)},
               {"features", fmt::format("{}", facts.n_features)}};
  if (facts.n_classes > 0) all.emplace_back("classes", fmt::format("{}", facts.n_classes));
  if (facts.bayes_error > 0) {
    all.emplace_back("Bayes error", fmt::format("{:.3f}", facts.bayes_error));
  }
  if (facts.family == "rules") all.emplace_back("rule", description.mechanisms.back().what);
  all.emplace_back("attempts", fmt::format("{}", facts.n_attempts));
  all.emplace_back("hash", fmt::format("{:016x}", hash));
  return all;
}

report::GalleryDataset dataset_of(const prior::Prior& prior, const train::HostBatch& batch,
                                  std::int64_t k) {
  const prior::DatasetFacts& facts = batch.facts[static_cast<std::size_t>(k)];
  const prior::Description description = prior.describe(facts.index);
  report::GalleryDataset dataset;
  dataset.title = fmt::format("{} {}", facts.family, facts.index);
  dataset.family = facts.family;
  dataset.facts = facts_of(description, batch.hashes[static_cast<std::size_t>(k)]);
  dataset.command = fmt::format("causeway prior generate {} --first {} --count 1 --out {}-{}.npz",
                                option_text(prior::describe_prior(), &prior.config()), facts.index,
                                facts.family, facts.index);
  dataset.n_classes = facts.n_classes;
  const Tensor x = batch.x_of(k);
  for (int column = 0; column < facts.n_features; ++column) {
    const prior::ColumnSource& source = description.features[static_cast<std::size_t>(column)];
    const std::string kind = source.n_categories > 0 ? fmt::format("{} cat.", source.n_categories)
                             : source.kind == "kumaraswamy" ? "warped"
                                                            : source.kind;
    dataset.features.push_back(
        {fmt::format("x{}", column), kind, x.select(1, column).contiguous().to_vector<float>()});
  }
  dataset.target = batch.y_of(k).to_vector<float>();
  dataset.nodes = nodes_of(description);
  return dataset;
}

void run(const GalleryOptions& options) {
  // Opened first, so that an unwritable path fails before the work.
  FileWriter writer("prior.gallery", options.out);
  const prior::Prior prior = options.prior.make();
  const train::Sample sample(prior, options.first, options.count);
  report::GalleryPage page;
  page.title = fmt::format("Datasets of the {} prior", prior.config().family);
  page.about =
      fmt::format("Datasets {} to {} of seed {}, each drawn from its own structural causal model.",
                  options.first, options.first + static_cast<std::uint64_t>(options.count) - 1,
                  prior.config().seed);
  page.command = fmt::format("causeway prior gallery {} --first {} --count {} --out {}",
                             option_text(prior::describe_prior(), &prior.config()), options.first,
                             options.count, options.out);
  {
    Progress progress("datasets", options.prior.quiet);
    const std::int64_t step = std::min<std::int64_t>(sample.default_batch(), 16);
    for (std::int64_t j = 0; j < sample.size(); j += step) {
      const train::HostBatch batch = sample.generate(j, std::min(step, sample.size() - j));
      for (std::size_t k = 0; k < batch.facts.size(); ++k) {
        page.datasets.push_back(dataset_of(prior, batch, static_cast<std::int64_t>(k)));
        progress.update(static_cast<std::int64_t>(page.datasets.size()), sample.size());
      }
    }
  }
  writer.write(report::gallery_html(page));
  writer.commit();
  if (options.prior.json) {
    const nlohmann::ordered_json json{{"out", options.out}, {"n_datasets", sample.size()}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}: {} datasets\n", options.out, sample.size());
  }
}

}  // namespace

void add_prior_gallery(CLI::App& prior) {
  CLI::App* command = prior.add_subcommand(
      "gallery", "Write an HTML page of datasets with plots and causal graphs");
  const auto options = std::make_shared<GalleryOptions>();
  command->add_option("--out", options->out, "Output, an HTML file")->type_name("PATH")->required();
  add_count(*command, "--count", options->count, "Number of datasets")
      ->check(CLI::Range(1, 1000).description(""));
  add_count(*command, "--first", options->first, "Index of the first dataset");
  options->prior.add_to(*command);
  command->callback([options] {
    if (!options->prior.printed()) run(*options);
  });
}

}  // namespace causeway::cli
