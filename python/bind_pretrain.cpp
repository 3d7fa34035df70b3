// Pre-training: the package's pretrain() wraps these.
#include "causeway/core/config.h"
#include "causeway/dist/device_choice.h"
#include "causeway/dist/launch.h"
#include "causeway/report/run_folder.h"
#include "causeway/train/pretrain_run.h"
#include "python/bind.h"
#include "python/casters.h"
#include "python/run_parts.h"

#include <nlohmann/json.hpp>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <map>

namespace causeway::python {

namespace {

using train::RunLine;
using train::RunOptions;

nb::dict to_dict(const RunLine& line) {
  nb::dict dict;
  dict["step"] = line.step;
  dict["datasets"] = line.datasets;
  dict["seconds"] = line.seconds;
  dict["loss"] = line.loss;
  dict["gradient_norm"] = line.norm;
  dict["datasets_per_second"] = line.datasets_per_second;
  dict["tokens_per_second"] = line.tokens_per_second;
  dict["mfu"] = line.mfu;
  dict["prior_share"] = line.prior_share;
  if (line.score.has_value()) dict["score"] = *line.score;
  return dict;
}

using Weights = std::map<std::string, Tensor>;

Weights copy_of(const nn::Module& module) {
  Weights weights;
  for (const auto& [name, tensor] : module.state()) weights[name] = tensor.clone();
  return weights;
}

// What a run calls; None: not called.
struct Hooks {
  nb::callable report;       // (line)
  nb::object on_checkpoint;  // (step, folder)
  nb::object evaluate;       // (weights) -> score
};

// Sets how the model is scored: by a function, or on tables.
void set_evaluation(RunOptions& options, const train::PretrainSettings& settings,
                    train::Pretrainer& trainer, const Hooks& hooks) {
  if (!hooks.evaluate.is_none()) {
    options.score = [&] {
      const Weights weights = copy_of(trainer.module());
      const CallPython call;
      return nb::cast<double>(hooks.evaluate(weights));
    };
  } else {
    options.evaluate = train::evaluation_on_tables(settings);
  }
}

// Returns the model's configuration, its averaged weights, and whether the run was interrupted.
nb::tuple run(const train::PretrainSettings& settings, Device device, RunOptions options,
              const Hooks& hooks, const train::RunParts& parts) {
  Weights weights;
  bool interrupted = false;
  without_gil([&] {
    dist::Group group = dist::Group::from_environment();
    device = dist::rank_device(device, group);
    if (parts.model != nullptr) parts.model->module().to(device);
    train::Pretrainer trainer(settings.config, device, group, settings.run.memory, parts);
    set_evaluation(options, settings, trainer, hooks);
    if (!hooks.on_checkpoint.is_none()) {
      options.on_checkpoint = [&](std::int64_t step, const std::filesystem::path& folder) {
        const CallPython call;
        hooks.on_checkpoint(step, folder);
      };
    }
    const bool has_page = group.rank() == 0 && !options.folder.empty();
    const auto result = train::run_pretraining(trainer, group, options, [&](const RunLine& line) {
      if (has_page && line.score.has_value()) report::write_run_report(options.folder);
      const CallPython call;
      hooks.report(to_dict(line));
    });
    interrupted = result.interrupted;
    if (has_page) report::write_run_report(options.folder);
    trainer.with_averaged_weights([&] { weights = copy_of(trainer.module()); });
  });
  return nb::make_tuple(settings.config.model.to_json(), weights, interrupted);
}

train::RunParts parts_of(const nb::object& source, const nb::list& families,
                         const nb::object& model, const nb::object& loss) {
  train::RunParts parts;
  if (!source.is_none()) parts.source = python_source(nb::cast<nb::callable>(source));
  for (const nb::handle family : families) {
    const auto [name, share, generate] =
        nb::cast<std::tuple<std::string, double, nb::callable>>(family);
    parts.families.push_back(python_family(name, share, generate));
  }
  if (!model.is_none()) parts.model = python_model(model, nb::cast<nb::callable>(loss));
  return parts;
}

}  // namespace

void bind_pretrain(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_pretrain", "Pre-training.");
  module.def("n_ranks", [] { return dist::read_launch().size; });
  module.def("fields", [] { return train::describe_settings().to_table().dump(); });
  module.def(
      "read_config",
      [](const std::string& path) { return read_config_file("pretrain", path).dump(); }, "path"_a);
  module.def(
      "resolve",
      [](const std::string& given, Device device, const std::string& resumed) {
        const std::string base = resumed.empty() ? "{}" : train::settings_of_run(resumed);
        return train::resolve_settings(base, given, device).to_json();
      },
      "given"_a, "device"_a, "resumed"_a);
  module.def(
      "run",
      [](const std::string& settings, Device device, const std::filesystem::path& folder,
         bool resume, const nb::callable& report, const nb::object& on_checkpoint,
         const nb::object& evaluate, const nb::object& source, const nb::list& families,
         const nb::object& model, const nb::object& loss) {
        const auto read = train::resolve_settings("{}", settings, device);
        RunOptions options;
        options.folder = folder;
        options.resume = resume;
        options.config = read.run;
        options.settings = settings;
        return run(read, device, options, {report, on_checkpoint, evaluate},
                   parts_of(source, families, model, loss));
      },
      "settings"_a, "device"_a, "folder"_a, "resume"_a, "report"_a, "on_checkpoint"_a.none(),
      "evaluate"_a.none(), "source"_a.none(), "families"_a, "model"_a.none(), "loss"_a.none(),
      "source, families, model and loss: see python/run_parts.h.");
}

}  // namespace causeway::python
