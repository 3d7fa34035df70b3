// Training, files and text generation of GPT models: causeway.gpt wraps these.
#include "causeway/core/config.h"
#include "causeway/dist/device_choice.h"
#include "causeway/models/gpt_huggingface.h"
#include "causeway/models/model_file.h"
#include "causeway/models/text_generator.h"
#include "causeway/report/run_folder.h"
#include "causeway/train/gpt_run.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nlohmann/json.hpp>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using data::TextTokenizer;
using models::Gpt;
using models::GptWeights;
using models::TextGenerator;
using train::GptLine;

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

nb::dict to_dict(const GptLine& line) {
  nb::dict dict;
  dict["step"] = line.step;
  dict["tokens"] = line.tokens;
  dict["seconds"] = line.seconds;
  dict["loss"] = line.loss;
  dict["gradient_norm"] = line.norm;
  dict["tokens_per_second"] = line.tokens_per_second;
  dict["mfu"] = line.mfu;
  if (line.score.has_value()) dict["validation_loss"] = *line.score;
  if (!line.sample.empty()) {
    dict["sample"] = to_bytes(line.sample).attr("decode")("utf-8", "replace");
  }
  return dict;
}

// Trains, calling `report` with every line of the log. Returns the last line.
nb::dict run(const std::string& settings, Device device, const std::filesystem::path& folder,
             bool resume, const nb::callable& on_line) {
  train::GptRunOptions options;
  options.settings = train::resolve_gpt_settings("{}", settings, device);
  options.folder = folder;
  options.resume = resume;
  const train::GptResult result = interruptible([&] {
    dist::Group group = dist::Group::from_environment();
    device = dist::rank_device(device, group);
    const train::GptResult done = train::run_gpt(options, device, group, [&](const GptLine& line) {
      const nb::gil_scoped_acquire held;
      on_line(to_dict(line));
    });
    if (group.rank() == 0 && !folder.empty()) report::write_run_report(folder);
    return done;
  });
  nb::dict dict = to_dict(result.last);
  dict["interrupted"] = result.interrupted;
  return dict;
}

void bind_training(nb::module_& module) {
  module.def("fields", [] { return train::describe_gpt_settings().to_table().dump(); });
  module.def(
      "resolve",
      [](const std::string& given, Device device, const std::string& resumed) {
        const std::string base = resumed.empty() ? "{}" : train::gpt_settings_of_run(resumed);
        return train::resolve_gpt_settings(base, given, device).to_json();
      },
      "given"_a, "device"_a, "resumed"_a);
  module.def("run", run, "settings"_a, "device"_a, "folder"_a, "resume"_a, "report"_a);
}

nb::tuple to_tuple(const GptWeights& weights) {
  return nb::make_tuple(weights.config.to_json(), weights.state);
}

void bind_files(nb::module_& module) {
  using Path = std::filesystem::path;
  module.def(
      "read",
      [](const Path& path) {
        const Path file = models::model_file_of(path);
        return to_tuple(without_gil([&] { return models::read_gpt(file); }));
      },
      "path"_a, "Reads (configuration, state).");
  module.def(
      "save",
      [](const Path& path, const Gpt& model, bool int8) {
        without_gil([&] { models::save_gpt(path, model, int8); });
      },
      "path"_a, "model"_a, "int8"_a);
  module.def(
      "import_huggingface",
      [](const Path& folder) {
        return to_tuple(without_gil([&] { return models::import_huggingface(folder); }));
      },
      "folder"_a, "Reads (configuration, state).");
  module.def(
      "export_huggingface",
      [](const Path& folder, const Gpt& model) {
        without_gil([&] { models::export_huggingface(folder, models::weights_of(model)); });
      },
      "folder"_a, "model"_a);
  module.def(
      "find_tokenizer",
      [](const Path& path, const Gpt& model) {
        return models::find_tokenizer(path, model.config());
      },
      "path"_a, "model"_a);
}

// Texts are passed as bytes, since they may be invalid UTF-8.
nb::list generate_texts(TextGenerator& generator, const std::vector<std::string>& prompts,
                        const models::GenerateOptions& options,
                        const std::vector<std::string>& stop, const nb::object& on_text) {
  TextGenerator::OnText report;
  if (!on_text.is_none()) {
    report = [&](std::size_t sample, std::string_view text) {
      const nb::gil_scoped_acquire held;
      on_text(sample, to_bytes(text));
    };
  }
  const auto results =
      interruptible([&] { return generator.generate(prompts, options, stop, report); });
  nb::list texts;
  for (const auto& result : results) texts.append(to_bytes(result.text));
  return texts;
}

void bind_text_generator(nb::module_& module) {
  nb::class_<TextGenerator>(module, "TextGenerator")
      .def("__init__",
           [](TextGenerator* self, std::shared_ptr<Gpt> model,
              std::shared_ptr<TextTokenizer> tokenizer, bool int8) {
             new (self) TextGenerator(std::move(model), std::move(tokenizer), int8);
           })
      .def("generate", generate_texts, "prompts"_a, "options"_a, "stop"_a, "on_text"_a.none());
}

}  // namespace

void bind_gpt_runs(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_gpt", "GPT models.");
  bind_training(module);
  bind_files(module);
  bind_text_generator(module);
}

}  // namespace causeway::python
