#include "cli/quantize.h"

#include "cli/options.h"

#include "causeway/core/environment.h"
#include "causeway/models/model_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct QuantizeCommand {
  std::string model;
  std::string out;
  bool int8 = false;
  bool json = false;
};

void run(const QuantizeCommand& command) {
  const std::filesystem::path file = models::model_file_of(command.model);
  const models::ModelFile model = models::read_model_file(file);
  const std::size_t before = std::filesystem::file_size(file);  // --out may be the same file
  models::write_model_file(command.out, with_context(fmt::format("reading \"{}\"", file.string()),
                                                     [&] { return models::quantized(model); }));
  const std::size_t after = std::filesystem::file_size(command.out);
  if (command.json) {
    const nlohmann::ordered_json json{
        {"out", command.out}, {"bytes_before", before}, {"bytes_after", after}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}: {}\n{}: {}\n", file.string(), format_bytes(before), command.out,
             format_bytes(after));
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("quantize", "Store the matrices of a model in 8 bits");
  const auto command = std::make_shared<QuantizeCommand>();
  sub->add_option("model", command->model, "Folder of a run, or a model file")
      ->type_name("RUN")
      ->required();
  sub->add_flag("--int8", command->int8, "8-bit integers with one scale per row")->required();
  sub->add_option("-o,--out", command->out, "Model file to write")->type_name("FILE")->required();
  add_json(*sub, command->json);
  sub->callback([command] { run(*command); });
}

}  // namespace causeway::cli
