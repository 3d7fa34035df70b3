// `causeway gpt tokenize`: token shards from text.
#include "cli/gpt.h"
#include "cli/options.h"
#include "cli/progress.h"

#include "causeway/data/tokenize_text.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct TokenizeCommand {
  std::vector<std::string> inputs;
  std::string out;
  data::TokenizeOptions options;
  int threads = 0;
  bool json = false;
  bool quiet = false;
};

nlohmann::ordered_json to_json(const data::TokenizeResult::Part& part) {
  return {{"documents", part.documents}, {"tokens", part.tokens}, {"shards", part.shards}};
}

void print(const TokenizeCommand& command, const data::TokenizeResult& result, double seconds) {
  if (command.json) {
    const nlohmann::ordered_json json{{"out", command.out},
                                      {"vocabulary", result.vocabulary},
                                      {"text_bytes", result.text_bytes},
                                      {"train", to_json(result.train)},
                                      {"validation", to_json(result.validation)},
                                      {"seconds", seconds}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  const auto megabytes = static_cast<double>(result.text_bytes) / 1e6;
  fmt::print("{}: {:.1f} MB of text, {:.1f} s ({:.1f} MB/s), vocabulary {}\n", command.out,
             megabytes, seconds, megabytes / std::max(seconds, 1e-9), result.vocabulary);
  const auto line = [](const char* name, const data::TokenizeResult::Part& part) {
    fmt::print("{}: {} documents, {} tokens, {} shards\n", name, part.documents, part.tokens,
               part.shards);
  };
  line("train", result.train);
  if (result.validation.documents > 0) line("validation", result.validation);
}

void run(const TokenizeCommand& command) {
  if (command.threads > 0) set_thread_count(command.threads);
  Progress progress("bytes", command.quiet);
  const auto start = std::chrono::steady_clock::now();
  const data::TokenizeResult result = data::tokenize_text(
      command.inputs, command.out, command.options, [&](std::uint64_t done, std::uint64_t total) {
        progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
      });
  progress.clear();
  print(command, result,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

void add_gpt_tokenize(CLI::App& gpt) {
  CLI::App* app = gpt.add_subcommand("tokenize", "Write token shards of text files");
  const auto command = std::make_shared<TokenizeCommand>();
  data::TokenizeOptions& options = command->options;
  app->add_option("files", command->inputs,
                  "Text files, .jsonl, .jsonl.zst, folders or quoted globs")
      ->type_name("FILES")
      ->required();
  app->add_option("--tokenizer", options.tokenizer,
                  "A tokenizer.json with a BPE model, or bytes [bytes]")
      ->type_name("FILE");
  app->add_option("-o,--out", command->out, "Output folder, new or empty")
      ->type_name("DIR")
      ->required();
  add_count(*app, "--shard-tokens", options.shard_tokens, "Tokens per shard")
      ->check(at_least_one());
  app->add_option("--validation", options.validation,
                  "Fraction of the documents for validation [0]")
      ->type_name("FRACTION");
  app->add_option("--separator", options.source.separator,
                  "Line that separates the documents of a text file [a file is one document]")
      ->type_name("LINE");
  app->add_option("--template", options.source.pattern,
                  "Text of a JSON object, such as \"{question}\\n{answer}\" [{text}]")
      ->type_name("TEXT");
  app->add_option("--answer", options.source.answer,
                  "Field of the template at which the answer begins; tokens before it are no "
                  "training targets")
      ->type_name("FIELD");
  add_seed(*app, options.seed);
  add_threads(*app, command->threads);
  add_json(*app, command->json);
  add_quiet(*app, command->quiet);
  app->callback([command] { run(*command); });
}

}  // namespace causeway::cli
