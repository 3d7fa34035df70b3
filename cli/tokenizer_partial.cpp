// Distributed fits: `fit --partial` for the rows of one machine, `merge` for all parts.
#include "cli/options.h"
#include "cli/tokenizer_fit.h"
#include "cli/tokenizer_report.h"

#include "causeway/core/environment.h"
#include "causeway/data/safetensors.h"
#include "causeway/tokenizer/options_json.h"
#include "causeway/tokenizer/streaming/streaming.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <set>

namespace causeway::cli {

namespace {

using namespace causeway::tokenizer;

[[noreturn]] void refuse(const char* operation, const std::string& message) {
  fail(ErrorKind::invalid_argument, operation, message);
}

PartialFit load_part(const std::string& path) {
  SafetensorsFile file =
      with_context("reading a part of a fit", [&] { return load_safetensors(path); });
  return PartialFit::from_state({std::move(file.tensors), std::move(file.metadata)}, path);
}

void save_part(const std::string& path, const PartialFit& part) {
  const PartialState state = part.state();
  save_safetensors(path, state.tensors, state.metadata);
}

const char* step_of(const PartialFit& part) {
  return part.has_plan() ? "collect" : part.needs_another_pass() ? "count again" : "count";
}

// Options of the command line must be absent or equal to the plan's.
PartialFit load_plan(const FitOptions& given) {
  PartialFit plan = load_part(given.against);
  if ((!plan.has_plan() && !plan.needs_another_pass()) || plan.n_seen() > 0) {
    refuse("tokenizer.fit", fmt::format("\"{}\" is a part, not a plan; `tokenizer merge` writes "
                                        "a plan",
                                        given.against));
  }
  const Options options = options_of(given);
  if (options_difference(options, Options()).empty()) return plan;
  const std::string differs = options_difference(plan.options(), options);
  if (!differs.empty()) {
    refuse("tokenizer.fit", fmt::format("the plan \"{}\" has other options: {}; leave them out",
                                        given.against, differs));
  }
  return plan;
}

PartialFit first_pass(const FitOptions& given) {
  const Options options = options_of(given);
  check(options);
  PartialFit part;
  bool begun = false;
  const auto add = [&](const Table& batch) {
    if (!begun) part = PartialFit::begin(batch, options);
    begun = true;
    part.count(batch);
  };
  for_each_batch(given.input, "counting", {}, add);
  if (!begun) add(read_table(given.input, Device::cpu()));  // a table without rows
  return part;
}

PartialFit next_pass(const FitOptions& given) {
  PartialFit part = load_plan(given).fresh();
  std::vector<Column> numeric = part.columns();
  std::erase_if(numeric, [](const Column& column) { return column.kind != ColumnKind::numeric; });
  InputOptions input = given.input;
  input.numeric = input.categorical = input.boolean = input.datetime = {};
  const std::vector<std::string> names = declare_columns(numeric, input);
  for_each_batch(
      input, part.has_plan() ? "collecting" : "counting", names,
      [&](const Table& batch) { part.has_plan() ? part.collect(batch) : part.count(batch); });
  return part;
}

struct MergeOptions {
  std::vector<std::string> parts;
  std::string out;
  std::string memory = "4GiB";
  bool estimate = false;
  bool json = false;
};

PartialFit merged(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> seen;
  PartialFit all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!seen.insert(std::filesystem::weakly_canonical(paths[i])).second) {
      refuse("tokenizer.merge", fmt::format("\"{}\" is given twice", paths[i]));
    }
    const PartialFit part = load_part(paths[i]);
    if (i == 0) {
      all = part;
    } else {
      with_context(fmt::format("merging \"{}\" with \"{}\"", paths[i], paths[0]),
                   [&] { all.merge(part); });
    }
  }
  return all;
}

void write_plan(const MergeOptions& given, PartialFit all) {
  if (given.out.ends_with(".json")) {
    refuse("tokenizer.merge",
           "merging parts of the first pass gives a plan, not a tokenizer; choose a name that does "
           "not "
           "end in .json and run fit --against it for every part, or pass --estimate");
  }
  all.plan(static_cast<std::int64_t>(parse_bytes("--memory", given.memory)) / 2);
  save_part(given.out, all);
  if (given.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"out", given.out},
                                              {"step", step_of(all)},
                                              {"parts", given.parts.size()},
                                              {"rows", all.n_rows()}}
                           .dump(2));
    return;
  }
  fmt::print(
      "plan for {} parts and {} rows written to {}{}\n", given.parts.size(), all.n_rows(),
      given.out,
      all.needs_another_pass() ? "; it needs another counting pass to stay within --memory" : "");
  fmt::print("next, for each part: causeway tokenizer fit DATA --against {} --partial FILE\n",
             given.out);
}

void print_estimate(const MergeOptions& given, const PartialFit& all, const Tokenizer& tok) {
  const std::vector<double> errors = all.rank_errors();
  double worst = 0;
  nlohmann::ordered_json by_column;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    by_column[tok.columns()[i].name] = errors[i];
    worst = std::max(worst, errors[i]);
  }
  if (given.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"out", given.out},
                                              {"parts", given.parts.size()},
                                              {"rows", all.n_rows()},
                                              {"rank_errors", by_column}}
                           .dump(2));
    return;
  }
  print_summary(tok);
  fmt::print("rank error of the edges: at most {:.3g}% of the rows\n", 100 * worst);
}

void run_merge(const MergeOptions& given) {
  PartialFit all = merged(given.parts);
  if (!given.estimate && !all.has_plan()) return write_plan(given, std::move(all));
  Tokenizer tok = given.estimate ? all.estimate() : all.finish();
  tok.source = fmt::format("{} parts", given.parts.size());
  tok.save(given.out);
  if (given.estimate) return print_estimate(given, all, tok);
  given.json ? print_summary_json(tok) : print_summary(tok);
}

}  // namespace

void run_partial(const FitOptions& given) {
  if (!given.target.empty() || !given.weights.empty()) {
    refuse("tokenizer.fit", "a target or weights need the whole table; fit it without --partial");
  }
  const PartialFit part = given.against.empty() ? first_pass(given) : next_pass(given);
  save_part(given.partial, part);
  if (given.json) {
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"out", given.partial}, {"step", step_of(part)}, {"rows", part.n_seen()}}
                   .dump(2));
    return;
  }
  fmt::print(
      "{} {} rows; part written to {}\nnext, with all parts: causeway tokenizer merge PARTS --out "
      "{}\n",
      part.has_plan() ? "collected" : "counted", part.n_seen(), given.partial,
      part.has_plan() ? "tok.json" : "plan.cwp");
}

void add_merge(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand(
      "merge", "Merge the parts of a distributed fit, written by `fit --partial`");
  command->footer(
      "Two passes over the data give the same tokenizer as one fit of all rows:\n"
      "  fit A.csv --partial a.cwp                    on each machine\n"
      "  merge a.cwp b.cwp --out plan.cwp\n"
      "  fit A.csv --against plan.cwp --partial a.cwp on each machine\n"
      "  merge a.cwp b.cwp --out tok.json\n"
      "One pass gives approximate edges, with a bound on their rank error:\n"
      "  merge a.cwp b.cwp --estimate --out tok.json");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("parts", options->parts, "Parts, in any order")
      ->type_name("FILE")
      ->required();
  command->add_option("--out", options->out, "Output: the plan, or the tokenizer (JSON)")
      ->type_name("FILE")
      ->required();
  command->add_flag("--estimate", options->estimate,
                    "Write an approximate tokenizer after the first pass");
  command
      ->add_option("--memory", options->memory,
                   "Memory limit of the merge; a low limit can require one more pass [4GiB]")
      ->type_name("SIZE");
  add_json(*command, options->json);
  command->callback([options] { run_merge(*options); });
}

}  // namespace causeway::cli
