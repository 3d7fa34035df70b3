#include "cli/pretrain.h"

#include "cli/options.h"
#include "cli/prior_options.h"
#include "cli/progress.h"
#include "cli/table_scores.h"

#include "causeway/train/pretrain_run.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace causeway::cli {

namespace {

struct PretrainOptions {
  PriorOptions prior;
  std::string preset = "default";
  std::int64_t width = 0, heads = 0, hidden = 0, layers = 0, group = 0, thinking = -1;
  train::PretrainConfig config;
  train::RunOptions run;
  std::string dtype;
  std::string stages;
  std::string folder;
  std::vector<std::string> tables;  // to score on
  std::string target = "target";
  double learning_rate = 0;
  std::string decay = "constant";
};

models::TabularConfig model_of(const PretrainOptions& options) {
  models::TabularConfig model = models::TabularConfig::preset(options.preset);
  const auto take = [](std::int64_t given, std::int64_t& to) {
    if (given > 0) to = given;
  };
  take(options.width, model.width);
  take(options.heads, model.heads);
  take(options.hidden, model.hidden);
  take(options.layers, model.layers);
  take(options.group, model.group);
  if (options.thinking >= 0) model.thinking = options.thinking;
  return model;
}

// "0:128,2000:512" to stages.
std::vector<train::RowStage> parse_stages(const std::string& text) {
  std::vector<train::RowStage> stages;
  std::size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::size_t colon = part.find(':');
    train::RowStage stage;
    const bool reads = colon != std::string::npos &&
                       CLI::detail::lexical_cast(part.substr(0, colon), stage.step) &&
                       CLI::detail::lexical_cast(part.substr(colon + 1), stage.rows) &&
                       stage.rows > 1 && stage.step >= 0 &&
                       (stages.empty() || stages.back().step < stage.step);
    if (!reads) {
      throw CLI::ValidationError("--stages", fmt::format("\"{}\" is not step:rows, the steps "
                                                         "ascending, with commas between",
                                                         text));
    }
    stages.push_back(stage);
    at = comma + 1;
  }
  return stages;
}

std::string describe(const train::RunLine& line) {
  std::string text = fmt::format(
      "step {:>6}  {:>8.1f} s  loss {:.4f}  {:.0f} datasets/s  {:.2f} M tokens/s", line.step,
      line.seconds, line.loss, line.datasets_per_second, line.tokens_per_second / 1e6);
  if (line.limit_share > 0) text += fmt::format(" ({:.0f}% of the limit)", 100 * line.limit_share);
  text += fmt::format("  prior {:.0f}%", 100 * line.prior_share);
  if (line.score.has_value()) text += fmt::format("  score {:.4f}", *line.score);
  return text;
}

// How much of the run is done: of its steps or of its time, whichever ends it first.
double share_done(const train::RunLine& line, const train::RunOptions& run) {
  double share = run.seconds > 0 ? line.seconds / run.seconds : 0;
  if (run.steps > 0) {
    share = std::max(share, static_cast<double>(line.step) / static_cast<double>(run.steps));
  }
  return std::min(share, 1.0);
}

nlohmann::ordered_json to_json(const train::RunResult& result) {
  const train::RunLine& line = result.last;
  nlohmann::ordered_json json;
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

// Whether Ctrl-C ended it.
bool pretrain(PretrainOptions& options) {
  train::PretrainConfig& config = options.config;
  config.stages = parse_stages(options.stages);
  dist::Group group = dist::Group::from_environment();
  if (options.prior.threads > 0) set_thread_count(options.prior.threads);
  Device device = options.prior.device_given ? options.prior.device : parse_device("auto");
  if (device.is_cuda() && group.size() > 1) device.index = group.local_rank();
  config.prior = options.prior.config;
  config.seed = options.prior.config.seed;
  config.model = model_of(options);
  config.match_target();
  const auto suited = train::PretrainConfig::suited_to(device);
  config.dtype = suited.dtype;
  config.window_steps = suited.window_steps;
  if (!options.dtype.empty()) config.dtype = parse_dtype(options.dtype);
  if (options.learning_rate > 0) config.schedule.peak = options.learning_rate;
  options.run.folder = options.folder;
  if (options.run.steps == 0 && options.run.seconds == 0) options.run.steps = 1000;
  if (options.decay != "constant") {
    if (options.run.steps == 0) {
      throw CLI::ValidationError("--decay", "a rate falls by steps; give --steps too");
    }
    config.schedule.decay = options.decay == "linear" ? optim::Decay::linear : optim::Decay::cosine;
    config.schedule.total = options.run.steps;
  }
  std::vector<TableReader> tables;
  for (const std::string& path : options.tables) {
    tables.emplace_back(path, options.target, config.model.is_regression());
    require_two(path, tables.back(), config.model.is_regression());
  }
  if (!tables.empty()) {
    options.run.evaluate = [&](models::TabularTransformer& model) {
      return mean_score(model, tables, 0);
    };
  }
  train::Pretrainer trainer(config, device, group);
  const bool tells = group.rank() == 0 && !options.prior.quiet;
  Progress progress("steps", !tells);
  const auto result =
      train::run_pretraining(trainer, group, options.run, [&](const train::RunLine& line) {
        if (!tells) return;
        progress.clear();
        fmt::print(stderr, "{}\n", describe(line));
        const double share = share_done(line, options.run);
        progress.show(share, format_seconds(line.seconds * (1 / share - 1)) + " left");
      });
  progress.clear();
  if (group.rank() != 0) return result.interrupted;
  if (options.prior.json) {
    fmt::print("{}\n", to_json(result).dump());
  } else {
    const char* goes_on = options.folder.empty() ? "" : "; the same command with --resume goes on";
    fmt::print("{}{}{}\n", describe(result.last), result.interrupted ? "  interrupted" : "",
               result.interrupted ? goes_on : "");
  }
  return result.interrupted;
}

}  // namespace

void add_pretrain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "pretrain", "Train a tabular transformer on datasets that a prior makes meanwhile");
  const auto options = std::make_shared<PretrainOptions>();
  options->prior.config.family = "mix";
  options->prior.add_to(*command);
  const auto count = [&](const char* name, std::int64_t& to, const char* description) {
    command->add_option(name, to, description)->type_name("N")->check(at_least_one());
  };
  command->add_option("--out", options->folder, "The run's folder: log, checkpoints")
      ->type_name("FOLDER");
  command->add_flag("--resume", options->run.resume, "Go on from the folder's newest checkpoint");
  command->add_option("--preset", options->preset, "The model to begin with")
      ->type_name("default|nanotabpfn|speedrun")
      ->default_str("default");
  count("--width", options->width, "Numbers a token has");
  count("--heads", options->heads, "Heads of attention");
  count("--hidden", options->hidden, "Numbers between the MLP's layers");
  count("--layers", options->layers, "Layers");
  count("--group", options->group, "Columns a token sees");
  command->add_option("--thinking", options->thinking, "Learned rows")
      ->type_name("N")
      ->check(at_least_zero());
  count("--steps", options->run.steps, "Steps in all [1000, or what the time allows]");
  command->add_option("--seconds", options->run.seconds, "Seconds of training in all")
      ->type_name("S")
      ->check(above_zero());
  count("--batch", options->config.batch, "Datasets a step, over all ranks [32]");
  command->add_option("--stages", options->stages, "Rows over time, as step:rows,step:rows")
      ->type_name("STAGES");
  command->add_option("--learning-rate", options->learning_rate, "The peak [0.002]")
      ->type_name("X")
      ->check(above_zero());
  command->add_option("--warmup", options->config.schedule.warmup, "Steps to the peak [100]")
      ->type_name("N")
      ->check(at_least_zero());
  command
      ->add_option("--decay", options->decay, "Of the rate, to 0 at the last of --steps [constant]")
      ->type_name("constant|linear|cosine")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}).description(""));
  command->add_flag("--muon,!--no-muon", options->config.muon,
                    "Muon for the matrices of layers, else AdamW for all [yes]");
  count("--average-steps", options->config.average_steps,
        "Steps between the ten last weights whose mean is the model [50]");
  command->add_option("--dtype", options->dtype, "Of the weights [bf16 on a GPU, else f32]")
      ->type_name("f32|bf16")
      ->check(CLI::IsMember({"f32", "bf16"}).description(""));
  count("--log-steps", options->run.log_steps, "Steps between lines [20]");
  count("--save-steps", options->run.save_steps, "Steps between checkpoints [one at the end]");
  command->add_option("--evaluate", options->tables, "Tables to score the model on at the end")
      ->type_name("CSV...");
  command->add_option("--target", options->target, "Their column to be told [target]")
      ->type_name("NAME")
      ->needs("--evaluate");
  command
      ->add_option("--evaluate-steps", options->run.evaluate_steps,
                   "Steps between scores, besides the one at the end")
      ->type_name("N")
      ->check(at_least_one())
      ->needs("--evaluate");
  command->add_flag("--detect-anomaly", options->config.detect_anomaly,
                    "Stop at the first number that is not finite, naming it; slow");
  command->callback([options] {
    if (pretrain(*options)) throw Interrupted();  // its group is gone by now, and went well
  });
}

}  // namespace causeway::cli
