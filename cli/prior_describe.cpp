// `causeway prior describe`: the structural causal model of one dataset.
#include "cli/options.h"
#include "cli/prior.h"
#include "cli/prior_options.h"
#include "cli/text_table.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct DescribeOptions {
  PriorOptions prior;
  std::uint64_t index = 0;
};

using Align = TextTable::Align;

std::string facts_table(const prior::DatasetFacts& facts, std::uint64_t seed) {
  TextTable table({{""}, {""}});
  table.add_row({"dataset", fmt::format("{} of seed {}", facts.index, seed)});
  table.add_row({"family", facts.family});
  table.add_row({"rows", fmt::format("{}, {} of them context", facts.n_rows, facts.n_train)});
  table.add_row({"features", fmt::format("{}", facts.n_features)});
  table.add_row({"target", facts.n_classes > 0 ? fmt::format("{} classes", facts.n_classes)
                                               : std::string("numeric")});
  if (facts.bayes_error > 0) {
    table.add_row({"Bayes error", fmt::format("{:.3f}", facts.bayes_error)});
  }
  table.add_row({"attempts", fmt::format("{}", facts.n_attempts)});
  return table.to_string();
}

std::string nodes_table(const prior::Description& description) {
  TextTable table({{"node", Align::right}, {"parents"}, {"width", Align::right}, {"mechanism"}});
  for (const prior::Mechanism& node : description.mechanisms) {
    table.add_row({fmt::format("{}", node.id), fmt::format("{}", fmt::join(node.parents, " ")),
                   fmt::format("{}", node.width), node.what});
  }
  return table.to_string();
}

std::string columns_table(const prior::Description& description) {
  TextTable table({{"column"}, {"node", Align::right}, {"kind"}, {"categories", Align::right}});
  const auto add = [&](const std::string& name, const prior::ColumnSource& column) {
    table.add_row({name, fmt::format("{}", column.node), column.kind,
                   column.n_categories > 0 ? fmt::format("{}", column.n_categories) : ""});
  };
  for (std::size_t i = 0; i < description.features.size(); ++i) {
    add(fmt::format("x{}", i), description.features[i]);
  }
  add("y", description.target);
  return table.to_string();
}

}  // namespace

void add_prior_describe(CLI::App& prior) {
  CLI::App* command =
      prior.add_subcommand("describe", "Show the structural causal model of one dataset");
  const auto options = std::make_shared<DescribeOptions>();
  add_count(*command, "--index", options->index, "Index of the dataset");
  options->prior.add_to(*command);
  command->callback([options] {
    if (options->prior.printed()) return;
    const prior::Prior of = options->prior.make();
    const prior::Description description = of.describe(options->index);
    if (options->prior.json) {
      fmt::print("{}\n", description.to_json());
    } else {
      fmt::print("{}\n{}\n{}", facts_table(description.facts, of.config().seed),
                 nodes_table(description), columns_table(description));
    }
  });
}

}  // namespace causeway::cli
