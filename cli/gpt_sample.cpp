// `causeway gpt sample`: continues a prompt.
#include "cli/gpt.h"
#include "cli/options.h"
#include "cli/print.h"

#include "causeway/models/text_generator.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct SampleCommand {
  std::string model;
  std::string tokenizer;
  std::string prompt = "\n";
  std::vector<std::string> stop;
  std::int64_t n_samples = 1;
  bool int8 = false;
  models::GenerateOptions options;
  Device device = Device::cpu();
  bool device_given = false;
  int threads = 0;
  bool json = false;
};

void run(const SampleCommand& command) {
  command.options.check();
  if (command.threads > 0) set_thread_count(command.threads);
  const Device device = command.device_given ? command.device : parse_device("auto");
  models::TextGenerator generator(command.model, command.tokenizer, device, command.int8);
  const bool streams = command.n_samples == 1 && !command.json;
  if (streams) print_text(command.prompt);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> prompts(static_cast<std::size_t>(command.n_samples),
                                         command.prompt);
  const auto results = generator.generate(prompts, command.options, command.stop,
                                          [&](std::size_t, std::string_view text) {
                                            if (!streams) return;
                                            print_text(text);
                                            std::fflush(stdout);
                                          });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (command.json) {
    nlohmann::ordered_json json{{"prompt", command.prompt},
                                {"seconds", seconds},
                                {"samples", nlohmann::ordered_json::array()}};
    for (const auto& result : results) {
      json["samples"].push_back({{"text", result.text}, {"tokens", result.n_tokens}});
    }
    print_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  if (streams) {
    fmt::print("\n");
    return;
  }
  for (const auto& result : results) print_text(command.prompt + result.text + "\n----\n");
}

}  // namespace

void add_gpt_sample(CLI::App& gpt) {
  CLI::App* app = gpt.add_subcommand("sample", "Continue a prompt with a trained model");
  const auto command = std::make_shared<SampleCommand>();
  models::GenerateOptions& options = command->options;
  app->add_option("model", command->model, "Folder of a run or of gpt import, or a model file")
      ->type_name("RUN")
      ->required();
  app->add_option("--prompt", command->prompt, "Text to continue [a line feed]")->type_name("TEXT");
  add_count(*app, "--tokens", options.tokens, "New tokens, at most");
  add_count(*app, "--samples", command->n_samples, "Number of samples")->check(at_least_one());
  app->add_option("--temperature", options.temperature,
                  "Divides the logits; 0 takes the most probable token [1]")
      ->type_name("X");
  add_count(*app, "--top-k", options.top_k, "Draw from the K most probable tokens; 0 for all")
      ->type_name("K");
  app->add_option("--top-p", options.top_p,
                  "Draw from the most probable tokens whose probabilities sum to P [1]")
      ->type_name("P");
  app->add_option("--min-p", options.min_p,
                  "Leave out tokens below P times the largest probability [0]")
      ->type_name("P");
  app->add_option("--stop", command->stop, "Texts that end a sample")->type_name("TEXT...");
  app->add_option("--tokenizer", command->tokenizer,
                  "bytes, or a tokenizer.json [that of the folder]")
      ->type_name("NAME");
  app->add_flag("--int8", command->int8, "Round matrices to 8 bits");
  add_seed(*app, options.seed);
  add_device(*app, command->device, "Device to run on")->each([command](const std::string&) {
    command->device_given = true;
  });
  add_threads(*app, command->threads);
  add_json(*app, command->json);
  app->callback([command] { run(*command); });
}

}  // namespace causeway::cli
