#include "cli/pretrain.h"

#include "cli/config_options.h"
#include "cli/dry_run.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"

#include "causeway/core/log.h"
#include "causeway/dist/device_choice.h"
#include "causeway/report/run_folder.h"
#include "causeway/runtime/threads.h"
#include "causeway/train/pretrain_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace causeway::cli {

namespace {

struct PretrainOptions {
  ConfigOptions settings;
  std::string folder;
  bool resume = false;
  bool dry_run = false;
  Device device = Device::cpu();
  bool device_given = false;
  int threads = 0;
  bool json = false;
  bool quiet = false;
};

// 12345678 to "12.3 M".
std::string scaled(double value) {
  if (value >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.0f} ", value);
}

std::string describe(const train::RunLine& line, bool regression) {
  std::string text =
      fmt::format("step {}  {:.1f} s  loss {:.4f}  {} datasets/s  {}tokens/s", line.step,
                  line.seconds, line.loss,
                  line.datasets_per_second < 10 ? fmt::format("{:.1f}", line.datasets_per_second)
                                                : fmt::format("{:.0f}", line.datasets_per_second),
                  scaled(line.tokens_per_second));
  if (line.mfu > 0) text += fmt::format(" ({:.0f}% of peak)", 100 * line.mfu);
  text += fmt::format("  prior {:.0f}% of step time", 100 * line.prior_share);
  if (line.score.has_value()) {
    text += fmt::format("  mean {} {:.4f}", regression ? "R²" : "ROC AUC", *line.score);
  }
  return text;
}

Json to_json(const train::RunResult& result) {
  const train::RunLine& line = result.last;
  Json json;
  json["step"] = line.step;
  json["datasets"] = line.datasets;
  json["seconds"] = line.seconds;
  json["loss"] = line.loss;
  json["datasets_per_second"] = line.datasets_per_second;
  json["prior_share"] = line.prior_share;
  if (line.score.has_value()) json["score"] = *line.score;
  json["interrupted"] = result.interrupted;
  return json;
}

train::PretrainSettings settings_of(const PretrainOptions& options, Device device) {
  if (options.resume && options.folder.empty()) {
    throw CLI::ValidationError("--resume", "needs --out, the folder of the run");
  }
  const std::string base = options.resume ? train::settings_of_run(options.folder) : "{}";
  return train::resolve_settings(base, options.settings.given().dump(), device);
}

void print_result(const PretrainOptions& options, const train::RunResult& result, bool shown,
                  bool regression) {
  if (options.json) {
    fmt::print("{}\n", to_json(result).dump());
    return;
  }
  if (!shown) fmt::print("{}\n", describe(result.last, regression));
  if (options.folder.empty()) return;
  if (result.interrupted) {
    print_text(
        fmt::format("interrupted at step {}; resume with: causeway pretrain --out {} --resume\n",
                    result.last.step, options.folder));
  } else {
    print_text(
        fmt::format("model: {0}/model.safetensors\nreport: {0}/report.html\n", options.folder));
  }
}

void print_plan(const PretrainOptions& options, const train::PretrainSettings& settings,
                Device device, dist::Group& group) {
  const train::Pretrainer trainer(settings.config, device, group, settings.run.memory);
  if (group.rank() != 0) return;
  const double flops = train::mean_step_flops(settings.config, settings.run.steps, group.size());
  print_dry_run({settings.to_json(), trainer.plan().needed(), trainer.plan().budget(),
                 trainer.plan().summary(),
                 train::estimate_time(settings.run, flops, device, settings.config.dtype)},
                options.json);
}

// The defaults are for a GPU. A time limit is checked between steps only.
void warn_if_slow(const train::PretrainSettings& settings, Device device, int n_ranks) {
  constexpr double kSlow = 20;  // seconds
  if (device.is_cuda()) return;
  train::LoopConfig one_step;
  one_step.steps = 1;
  const double flops = train::mean_step_flops(settings.config, 1, n_ranks);
  const double seconds =
      train::estimate_time(one_step, flops, device, settings.config.dtype).seconds;
  if (seconds < kSlow) return;
  logger::warn(
      fmt::format("[pretrain] a step takes about {} or more on this CPU; smaller ones: --rows 256 "
                  "--features 1:20 --batch 8",
                  format_seconds(seconds)));
}

// Returns whether the run was interrupted.
bool pretrain(const PretrainOptions& options) {
  dist::Group group = dist::Group::from_environment();
  if (options.threads > 0) set_thread_count(options.threads);
  Device device = options.device_given ? options.device : parse_device("auto");
  device = dist::rank_device(device, group);
  const train::PretrainSettings settings = settings_of(options, device);
  if (options.settings.prints()) {
    if (group.rank() == 0) fmt::print("{}\n", settings.to_json());
    return false;
  }
  if (options.dry_run) {
    print_plan(options, settings, device, group);
    return false;
  }
  train::RunOptions run;
  run.folder = options.folder;
  run.resume = options.resume;
  run.config = settings.run;
  run.settings = settings.to_json();
  run.evaluate = train::evaluation_on_tables(settings);
  const bool reports = group.rank() == 0 && !options.quiet;
  train::Pretrainer trainer(settings.config, device, group, settings.run.memory);
  run.on_start = [&] {
    if (!reports) return;
    note("memory: {}\n", trainer.plan().summary());
    warn_if_slow(settings, device, group.size());
  };
  if (reports && options.folder.empty()) {
    logger::warn("[pretrain] without --out, neither the model nor checkpoints are saved");
  }
  const bool regression = settings.config.model.is_regression();
  Progress progress("steps", !reports);
  bool shown = false;
  const bool has_page = group.rank() == 0 && !options.folder.empty();
  const auto result = train::run_pretraining(trainer, group, run, [&](const train::RunLine& line) {
    if (has_page && line.score.has_value()) report::write_run_report(options.folder);
    if (!reports) return;
    shown = true;
    progress.clear();
    note("{}\n", describe(line, regression));
    const double fraction = settings.run.fraction_done(line.step, line.seconds);
    progress.show(fraction, format_seconds(line.seconds * (1 / fraction - 1)) + " left");
  });
  progress.clear();
  if (has_page) report::write_run_report(options.folder);
  if (group.rank() == 0) print_result(options, result, shown, regression);
  return result.interrupted;
}

}  // namespace

void add_pretrain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "pretrain", "Train a tabular transformer on datasets generated on the fly by a prior");
  const auto options = std::make_shared<PretrainOptions>();
  command
      ->add_option("--out", options->folder,
                   "Folder of the run: model, log, checkpoints, config, report.html")
      ->type_name("FOLDER");
  command->add_flag(
      "--resume", options->resume,
      "Resume the run in --out from its newest checkpoint, with its settings; options "
      "override them");
  add_dry_run(*command, options->dry_run);
  static const auto defaults = train::resolve_settings("{}", "{}", Device::cpu());
  options->settings.add_to(*command, train::describe_settings(), &defaults);
  add_device(*command, options->device, "Device to train on")->each([options](const std::string&) {
    options->device_given = true;
  });
  add_threads(*command, options->threads);
  add_json(*command, options->json);
  add_quiet(*command, options->quiet);
  command->callback([options] {
    if (pretrain(*options)) throw Interrupted();
  });
}

}  // namespace causeway::cli
