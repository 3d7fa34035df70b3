// `causeway pairs gallery`: an HTML page of pairs.
#include "cli/options.h"
#include "cli/pairs.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/pairs/dataset.h"
#include "causeway/report/pairs_page.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct GalleryOptions {
  std::string path;
  std::string out;
  std::int64_t count = 40;
  bool json = false;
  pairs::DatasetConfig config;
};

std::string check_text(const std::string& check, const Json& verification) {
  if (check == "run") {
    return fmt::format("run on {} input sets", verification.at("input_sets").dump());
  }
  if (check == "adjoint") {
    return fmt::format("{} derivatives, error {:.1e}", verification.at("derivatives").dump(),
                       verification.at("worst_derivative_error").get<double>());
  }
  if (check == "compile") return "compiled by NVRTC";
  if (check == "cpp") return "run as C++";
  if (check == "gpu") return "run on a GPU";
  return check;
}

std::string variant_title(const Json& variant) {
  std::string form = variant.at("form");
  std::ranges::replace(form, '_', ' ');
  const std::string time =
      variant.contains("microseconds")
          ? fmt::format(", {:.1f} microseconds", variant["microseconds"].get<double>())
          : "";
  return fmt::format("Equivalent kernel: {}{}", form, time);
}

report::PairCard card_of(std::string_view line, const std::string& place) {
  const Json record = Json::parse(line, nullptr, false);
  try {
    const Json& metadata = record.at("metadata");
    const Json& verification = metadata.at("verification");
    report::PairCard card;
    card.id = metadata.at("id");
    card.kernel = metadata.at("kernel");
    card.category = metadata.at("category");
    card.level = metadata.at("difficulty");
    card.description = metadata.at("description");
    for (const Json& check : verification.at("passed"))
      card.checks.push_back(check_text(check, verification));
    std::string dims;
    for (const Json& dim : record.at("inputs").at(0).at("dim"))
      dims += (dims.empty() ? "" : " x ") + dim.dump();
    card.facts = {{"launch", dims},
                  {"tolerance", verification.at("tolerance")},
                  {"split", metadata.at("split")},
                  {"structure", metadata.at("structure")},
                  {"id", card.id}};
    card.python = record.at("python_source");
    card.cuda = record.at("cuda_forward");
    if (record.at("cuda_backward").is_string()) card.adjoint = record["cuda_backward"];
    for (const Json& variant : record.value("variants", Json::array()))
      card.variants.push_back({variant_title(variant), variant.at("cuda_forward")});
    if (record.contains("twin")) {
      card.mistake = record["twin"].at("diagnosis");
      card.wrong_python = record["twin"].at("python_source");
    }
    return card;
  } catch (const Json::exception&) {
    throw Error(ErrorKind::format, fmt::format("[pairs] {}: not a record of kernel pairs", place));
  }
}

void generate(const GalleryOptions& options, report::PairsPage& page) {
  pairs::Stream stream(options.config.stream(thread_count()));
  while (static_cast<std::int64_t>(page.pairs.size()) < options.count) {
    for (const pairs::Record& record : stream.next(64)) {
      if (static_cast<std::int64_t>(page.pairs.size()) == options.count) break;
      page.pairs.push_back(card_of(to_json(record, options.config.device), page.title));
    }
  }
}

void run(const GalleryOptions& options) {
  // Opened first, so that an unwritable path fails before the work.
  FileWriter file("pairs.gallery", options.out);
  report::PairsPage page;
  page.title = "Kernel pairs";
  page.command = fmt::format("causeway pairs gallery{} --count {}",
                             options.path.empty() ? "" : " " + options.path, options.count);
  if (options.path.empty()) {
    page.command += fmt::format(" --seed {}", options.config.seed);
    if (!options.config.categories.empty())
      page.command += fmt::format(" --categories {}", fmt::join(options.config.categories, ","));
    generate(options, page);
  } else {
    pairs::read_records(options.path, [&](std::string_view line, const std::string& place) {
      if (static_cast<std::int64_t>(page.pairs.size()) < options.count)
        page.pairs.push_back(card_of(line, place));
    });
  }
  page.command += " --out " + options.out;
  page.lead = fmt::format(
      "{} random kernels in Python with the CUDA C++ and the adjoint that they compile to, and the "
      "checks that each passed.",
      page.pairs.size());
  file.write(report::pairs_html(page));
  file.commit();
  if (options.json) {
    fmt::print("{}\n", Json{{"out", options.out}, {"n_pairs", page.pairs.size()}}.dump());
  } else {
    fmt::print("{}: {} pairs\n", options.out, page.pairs.size());
  }
}

}  // namespace

void add_pairs_gallery(CLI::App& pairs) {
  CLI::App* command = pairs.add_subcommand(
      "gallery", "Write an HTML page of pairs, from a dataset or generated for it");
  const auto options = std::make_shared<GalleryOptions>();
  command
      ->add_option("path", options->path,
                   "Folder of a dataset, or a .json, .jsonl or .jsonl.zst file [generated pairs]")
      ->type_name("PATH");
  command->add_option("-o,--out", options->out, "Output, an HTML file")
      ->type_name("FILE")
      ->required();
  add_count(*command, "-n,--count", options->count, "Number of pairs")
      ->check(CLI::Range(1, 1000).description(""));
  add_count(*command, "-s,--seed", options->config.seed, "Random seed of generated pairs");
  command
      ->add_option("-c,--categories", options->config.categories,
                   "Categories of generated pairs [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
