// `causeway gpt import` and `causeway gpt export`: models of Hugging Face's transformers.
#include "cli/gpt.h"
#include "cli/options.h"

#include "causeway/core/file.h"
#include "causeway/models/gpt_huggingface.h"
#include "causeway/models/model_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace causeway::cli {

namespace {

namespace fs = std::filesystem;

struct ConvertCommand {
  std::string from;
  std::string out;
  bool json = false;
};

// Creates the folder. A model that is there already may be a run's.
void prepare(const char* operation, const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("\"{}\" already holds a model; choose another folder", folder.string()));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io(operation, "create", folder, error.value());
}

// Returns whether there is one.
bool copy_tokenizer(const char* operation, const fs::path& from, const fs::path& to) {
  if (!fs::exists(from / "tokenizer.json")) return false;
  copy_file_atomically(operation, from / "tokenizer.json", to / "tokenizer.json");
  return true;
}

void print(const ConvertCommand& command, const models::GptWeights& weights, bool has_tokenizer) {
  const std::string dtype(to_string(weights.dtype()));
  if (command.json) {
    const nlohmann::ordered_json json{{"out", command.out},
                                      {"parameters", weights.config.n_parameters()},
                                      {"dtype", dtype},
                                      {"tokenizer", has_tokenizer}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}: {} parameters, {}, {}\n", command.out, weights.config.n_parameters(), dtype,
             has_tokenizer ? "tokenizer.json" : "no tokenizer.json");
}

void run_import(const ConvertCommand& command) {
  const models::GptWeights weights = models::import_huggingface(command.from);
  prepare("gpt import", command.out);
  models::save_gpt(fs::path(command.out) / "model.safetensors", weights);
  print(command, weights, copy_tokenizer("gpt import", command.from, command.out));
}

void run_export(const ConvertCommand& command) {
  const fs::path file = models::model_file_of(command.from);
  const models::GptWeights weights = models::read_gpt(file);
  prepare("gpt export", command.out);
  models::export_huggingface(command.out, weights);
  print(command, weights, copy_tokenizer("gpt export", file.parent_path(), command.out));
}

void add(CLI::App& gpt, const std::string& name, const std::string& help, const char* from,
         const char* from_help, const char* out, void (*run)(const ConvertCommand&)) {
  CLI::App* app = gpt.add_subcommand(name, help);
  const auto command = std::make_shared<ConvertCommand>();
  app->add_option("model", command->from, from_help)->type_name(from)->required();
  app->add_option("-o,--out", command->out, "Output folder, without a model")
      ->type_name(out)
      ->required();
  add_json(*app, command->json);
  app->callback([command, run] { run(*command); });
}

}  // namespace

void add_gpt_import(CLI::App& gpt) {
  add(gpt, "import", "Convert a GPT-2 or Llama model of Hugging Face", "DIR",
      "Folder with config.json and model.safetensors", "RUN", run_import);
}

void add_gpt_export(CLI::App& gpt) {
  add(gpt, "export", "Convert a model for Hugging Face's transformers", "RUN",
      "Folder of a run or of gpt import, or a model file", "DIR", run_export);
}

}  // namespace causeway::cli
