// Pre-training: the package's pretrain() wraps these.
#include "causeway/core/config.h"
#include "causeway/dist/device_choice.h"
#include "causeway/report/run_folder.h"
#include "causeway/train/pretrain_run.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nlohmann/json.hpp>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>

#include <map>

namespace causeway::python {

namespace {

using train::PretrainConfig;
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

// Trains, calling `on_line` with every line of the log. Returns the model's configuration, its
// averaged weights, and whether the run was interrupted.
nb::tuple run(PretrainConfig config, Device device, const RunOptions& options,
              const nb::callable& on_line) {
  std::map<std::string, Tensor> weights;
  bool interrupted = false;
  without_gil([&] {
    dist::Group group = dist::Group::from_environment();
    device = dist::rank_device(device, group);
    train::Pretrainer trainer(config, device, group, options.config.memory);
    const bool has_page = group.rank() == 0 && !options.folder.empty();
    const auto result = train::run_pretraining(trainer, group, options, [&](const RunLine& line) {
      if (has_page && line.score.has_value()) report::write_run_report(options.folder);
      const nb::gil_scoped_acquire held;
      on_line(to_dict(line));
    });
    interrupted = result.interrupted;
    if (has_page) report::write_run_report(options.folder);
    trainer.with_averaged_weights([&](models::TabularTransformer& model) {
      for (const auto& [name, tensor] : model.state()) weights[name] = tensor.clone();
    });
  });
  return nb::make_tuple(config.model.to_json(), weights, interrupted);
}

}  // namespace

void bind_pretrain(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_pretrain", "Pre-training.");
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
         bool resume, const nb::callable& on_line) {
        const auto read = train::resolve_settings("{}", settings, device);
        RunOptions options;
        options.folder = folder;
        options.resume = resume;
        options.config = read.run;
        options.settings = settings;
        options.evaluate = train::evaluation_on_tables(read);
        return run(read.config, device, options, on_line);
      },
      "settings"_a, "device"_a, "folder"_a, "resume"_a, "on_line"_a);
}

}  // namespace causeway::python
