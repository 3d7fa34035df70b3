#include "cli/prior_options.h"

#include "cli/options.h"

#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace causeway::cli {

namespace {

using prior::CountRange;
using prior::PriorConfig;

// "0.3:0.9", or one number for both ends.
template <class Number>
void add_range(CLI::App& command, const std::string& name, Number& low, Number& high,
               const std::string& description) {
  const auto read = [&low, &high, name](const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto number = [&](const std::string& part) {
      Number value{};
      if (!CLI::detail::lexical_cast(part, value)) {
        throw CLI::ValidationError(
            name, fmt::format("\"{}\" is not a number or two with a colon between", text));
      }
      return value;
    };
    low = number(text.substr(0, colon));
    high = colon == std::string::npos ? low : number(text.substr(colon + 1));
  };
  command.add_option_function<std::string>(name, read, description)->type_name("LOW:HIGH");
}

void add_count_range(CLI::App& command, const std::string& name, CountRange& range,
                     const std::string& description) {
  const auto read = [&range, name](const std::string& text) {
    try {
      range = CountRange::parse(name, text);
    } catch (const Error&) {
      throw CLI::ValidationError(
          name,
          fmt::format("\"{}\" is not a whole number, \"low:high\" or \"log low:high\"", text));
    }
  };
  command
      .add_option_function<std::string>(name, read,
                                        fmt::format("{} [{}]", description, range.to_string()))
      ->type_name("RANGE");
}

void add_families(CLI::App& command, PriorConfig& config) {
  command.add_option("--prior", config.family, "The family of models")
      ->type_name("simple|mlp|tree|graph|mix")
      ->default_str(config.family)
      ->check(CLI::IsMember(prior::family_names()).description(""));
  command
      .add_option("--mix", config.mix,
                  "How often a mix takes simple, mlp, tree and graph, as four weights")
      ->delimiter(',')
      ->expected(4)
      ->type_name("W,W,W,W");
}

void add_shape(CLI::App& command, PriorConfig& config) {
  add_count_range(command, "--rows", config.rows, "Rows of a dataset");
  add_count_range(command, "--features", config.features, "Columns of a dataset");
  add_count_range(command, "--classes", config.classes, "Classes of a dataset");
  command.add_flag("--regression", config.regression, "A numeric target in place of classes");
  add_range(command, "--train-share", config.train_low, config.train_high,
            "The share of rows before the split [0.3:0.9]");
  add_range(command, "--missing", config.missing_low, config.missing_high,
            "The share of cells that are missing [0]");
  command.add_flag("--balanced", config.balanced, "Classes of even size (not for graph)");
}

void add_filters(CLI::App& command, PriorConfig& config) {
  command.add_flag("--filter-constant,!--no-filter-constant", config.filter_constant,
                   "Whether columns of one value go [yes]");
  command.add_flag("--filter-classes,!--no-filter-classes", config.filter_classes,
                   "Whether both sides of the split know the same classes [yes]");
  command.add_flag("--filter-predictable,!--no-filter-predictable", config.filter_predictable,
                   "Whether trees must predict better than the mean (graph and mix) [yes]");
  command.add_flag("--filter-trivial,!--no-filter-trivial", config.filter_trivial,
                   "Whether datasets that trees predict all but perfectly go [no]");
}

void add_graph(CLI::App& command, PriorConfig& config) {
  add_range(command, "--nodes", config.min_nodes, config.max_nodes, "Nodes of a graph [2:32]");
  command.add_option("--edge-offset", config.edge_offset, "More edges above 0, fewer below [0]")
      ->type_name("X");
  command.add_flag("--graph-noise", config.graph_noise, "Noise at every node");
  command
      .add_option("--max-categories", config.max_categories, "Most categories of a column [200]")
      ->type_name("N");
  command.add_flag("--reference-choices", config.reference_choices,
                   "The reference's fault: choices of a dataset are not correlated");
  command.add_flag("--reference-warps", config.reference_warps,
                   "The reference's fault: warps go on to a node's children");
  command.add_flag("--reference-categories", config.reference_categories,
                   "The reference's fault: at most nine categories");
}

std::string range_text(double low, double high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{}:{}", low, high);
}

std::string quoted(const CountRange& range) {
  return range.logarithmic ? fmt::format("'{}'", range.to_string()) : range.to_string();
}

}  // namespace

void PriorOptions::add_to(CLI::App& command) {
  add_families(command, config);
  add_shape(command, config);
  add_filters(command, config);
  add_graph(command, config);
  add_seed(command, config.seed);
  add_device(command, device, "Where to make them; auto at first")
      ->each([this](const std::string&) { device_given = true; });
  command.add_option("--threads", threads, "CPU threads to use")
      ->type_name("N")
      ->check(at_least_one());
  add_json(command, json);
  add_quiet(command, quiet);
}

prior::Prior PriorOptions::make() const {
  if (threads > 0) set_thread_count(threads);
  return prior::Prior(config, device_given ? device : parse_device("auto"));
}

std::string flags_of(const PriorConfig& config) {
  const PriorConfig first;
  std::string flags = "--prior " + config.family;
  const auto add = [&](bool differs, const std::string& text) {
    if (differs) flags += " " + text;
  };
  const auto add_switch = [&](const std::string& name, bool is, bool was) {
    add(is != was, (is ? "--" : "--no-") + name);
  };
  if (config.family == "mix" && config.mix != first.mix) {
    flags += fmt::format(" --mix {}", fmt::join(config.mix, ","));
  }
  add(true, "--rows " + quoted(config.rows));
  add(true, "--features " + quoted(config.features));
  add(config.regression, "--regression");
  add(!config.regression, "--classes " + quoted(config.classes));
  add(config.train_low != first.train_low || config.train_high != first.train_high,
      "--train-share " + range_text(config.train_low, config.train_high));
  add(config.missing_high > 0, "--missing " + range_text(config.missing_low, config.missing_high));
  add(config.balanced, "--balanced");
  add_switch("filter-constant", config.filter_constant, first.filter_constant);
  add_switch("filter-classes", config.filter_classes, first.filter_classes);
  if (config.family == "graph" || config.family == "mix") {
    add_switch("filter-predictable", config.filter_predictable, first.filter_predictable);
  }
  add_switch("filter-trivial", config.filter_trivial, first.filter_trivial);
  add(config.min_nodes != first.min_nodes || config.max_nodes != first.max_nodes,
      fmt::format("--nodes {}:{}", config.min_nodes, config.max_nodes));
  add(config.edge_offset != first.edge_offset, fmt::format("--edge-offset {}", config.edge_offset));
  add(config.graph_noise, "--graph-noise");
  add(config.max_categories != first.max_categories,
      fmt::format("--max-categories {}", config.max_categories));
  add(config.reference_choices, "--reference-choices");
  add(config.reference_warps, "--reference-warps");
  add(config.reference_categories, "--reference-categories");
  add(true, fmt::format("--seed {}", config.seed));
  return flags;
}

}  // namespace causeway::cli
