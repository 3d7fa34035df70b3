// `causeway gpt train`: trains a language model.
#include "cli/config_options.h"
#include "cli/dry_run.h"
#include "cli/gpt.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"

#include "causeway/core/log.h"
#include "causeway/dist/device_choice.h"
#include "causeway/report/run_folder.h"
#include "causeway/runtime/threads.h"
#include "causeway/train/gpt_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace causeway::cli {

namespace {

struct TrainCommand {
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

std::string describe(const train::GptLine& line) {
  std::string text = fmt::format("step {}  {:.1f} s  loss {:.4f}  {:.0f} tokens/s", line.step,
                                 line.seconds, line.loss, line.tokens_per_second);
  if (line.mfu > 0) text += fmt::format(" ({:.0f}% of peak)", 100 * line.mfu);
  if (line.score.has_value()) text += fmt::format("  validation loss {:.4f}", *line.score);
  return text;
}

Json to_json(const train::GptResult& result) {
  const train::GptLine& line = result.last;
  Json json;
  json["step"] = line.step;
  json["tokens"] = line.tokens;
  json["seconds"] = line.seconds;
  json["loss"] = line.loss;
  json["tokens_per_second"] = line.tokens_per_second;
  json["mfu"] = line.mfu;
  if (line.score.has_value()) json["validation_loss"] = *line.score;
  if (!line.sample.empty()) json["sample"] = line.sample;
  json["interrupted"] = result.interrupted;
  return json;
}

void print_result(const TrainCommand& command, const train::GptResult& result) {
  if (command.json) {
    fmt::print("{}\n", to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n", describe(result.last));
  if (!result.last.sample.empty()) print_text("sample: " + result.last.sample + "\n");
  if (command.folder.empty()) return;
  if (result.interrupted) {
    print_text(
        fmt::format("interrupted at step {}; resume with: causeway gpt train --out {} --resume\n",
                    result.last.step, command.folder));
  } else {
    print_text(fmt::format("model: {}/model.safetensors\n", command.folder));
  }
}

void print_plan(const TrainCommand& command, const train::GptRunOptions& options, Device device,
                dist::Group& group) {
  const train::GptPlan plan = train::plan_gpt(options, device, group);
  if (group.rank() != 0) return;
  const train::GptTrainConfig& config = plan.settings.config;
  const double flops = config.model.step_flops(config.batch / group.size(), config.model.length);
  print_dry_run(
      {plan.settings.to_json(), plan.memory.needed(), plan.memory.budget(), plan.memory.summary(),
       train::estimate_time(plan.settings.run, flops, device, config.dtype)},
      command.json);
}

// Returns whether the run was interrupted.
bool run(const TrainCommand& command) {
  if (command.resume && command.folder.empty()) {
    throw CLI::ValidationError("--resume", "needs --out, the folder of the run");
  }
  dist::Group group = dist::Group::from_environment();
  if (command.threads > 0) set_thread_count(command.threads);
  Device device = command.device_given ? command.device : parse_device("auto");
  device = dist::rank_device(device, group);
  const std::string base = command.resume ? train::gpt_settings_of_run(command.folder) : "{}";
  train::GptRunOptions options;
  options.folder = command.folder;
  options.resume = command.resume;
  options.settings = train::resolve_gpt_settings(base, command.settings.given().dump(), device);
  if (command.settings.prints()) {
    if (group.rank() == 0) fmt::print("{}\n", options.settings.to_json());
    return false;
  }
  if (command.dry_run) {
    print_plan(command, options, device, group);
    return false;
  }
  const bool reports = group.rank() == 0 && !command.quiet;
  if (reports && command.folder.empty()) {
    logger::warn("[gpt train] without --out, neither the model nor checkpoints are saved");
  }
  options.on_start = [&](const train::GptMemoryPlan& plan) {
    if (reports) note("memory: {}\n", plan.summary());
  };
  Progress progress("steps", !reports);
  const auto result = train::run_gpt(options, device, group, [&](const train::GptLine& line) {
    if (!reports) return;
    progress.clear();
    note("{}\n", describe(line));
    if (!line.sample.empty()) note("sample: {}\n", line.sample);
    const double fraction = options.settings.run.fraction_done(line.step, line.seconds);
    progress.show(fraction, format_seconds(line.seconds * (1 / fraction - 1)) + " left");
  });
  progress.clear();
  if (group.rank() == 0 && !command.folder.empty()) report::write_run_report(command.folder);
  if (group.rank() == 0) print_result(command, result);
  return result.interrupted;
}

}  // namespace

void add_gpt_train(CLI::App& gpt) {
  CLI::App* app = gpt.add_subcommand("train", "Train a GPT on text or token shards");
  const auto command = std::make_shared<TrainCommand>();
  app->add_option("--out", command->folder, "Folder of the run: model, log, checkpoints, config")
      ->type_name("FOLDER");
  app->add_flag("--resume", command->resume,
                "Resume the run in --out from its newest checkpoint, with its settings; options "
                "override them");
  add_dry_run(*app, command->dry_run);
  static const auto defaults = train::resolve_gpt_settings("{}", "{}", Device::cpu());
  command->settings.add_to(*app, train::describe_gpt_settings(), &defaults);
  add_device(*app, command->device, "Device to train on")->each([command](const std::string&) {
    command->device_given = true;
  });
  add_threads(*app, command->threads);
  add_json(*app, command->json);
  add_quiet(*app, command->quiet);
  app->callback([command] {
    if (run(*command)) throw Interrupted();
  });
}

}  // namespace causeway::cli
