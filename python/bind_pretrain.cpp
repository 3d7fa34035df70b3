// Pre-training: the package's pretrain() wraps these.
#include "causeway/train/pretrain_run.h"
#include "python/bind.h"
#include "python/casters.h"

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
  dict["limit_share"] = line.limit_share;
  dict["prior_share"] = line.prior_share;
  return dict;
}

// Trains, calling `tell` with every line of the log; the model's configuration, its averaged
// weights, and whether Ctrl-C ended it.
nb::tuple run(PretrainConfig config, Device device, const RunOptions& options,
              const nb::callable& tell) {
  std::map<std::string, Tensor> weights;
  bool interrupted = false;
  without_gil([&] {
    dist::Group group = dist::Group::from_environment();
    if (device.is_cuda() && group.size() > 1) device.index = group.local_rank();
    train::Pretrainer trainer(config, device, group);
    const auto result = train::run_pretraining(trainer, group, options, [&](const RunLine& line) {
      const nb::gil_scoped_acquire held;
      tell(to_dict(line));
    });
    interrupted = result.interrupted;
    trainer.with_averaged_weights([&](models::TabularTransformer& model) {
      for (const auto& [name, tensor] : model.state()) weights[name] = tensor.clone();
    });
  });
  return nb::make_tuple(config.model.to_json(), weights, interrupted);
}

}  // namespace

void bind_pretrain(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_pretrain", "Pre-training.");
  module.def(
      "defaults", [](Device device) { return PretrainConfig::suited_to(device).to_json(); },
      "device"_a);
  module.def(
      "run",
      [](std::string_view config, Device device, const std::filesystem::path& folder, bool resume,
         std::int64_t steps, double seconds, std::int64_t log_steps, std::int64_t save_steps,
         bool detect_anomaly, const nb::callable& tell) {
        PretrainConfig read = PretrainConfig::from_json(config);
        read.match_target();
        read.detect_anomaly = detect_anomaly;
        RunOptions options;
        options.folder = folder;
        options.resume = resume;
        options.steps = steps;
        options.seconds = seconds;
        options.log_steps = log_steps;
        options.save_steps = save_steps;
        return run(std::move(read), device, options, tell);
      },
      "config"_a, "device"_a, "folder"_a, "resume"_a, "steps"_a, "seconds"_a, "log_steps"_a,
      "save_steps"_a, "detect_anomaly"_a, "tell"_a);
}

}  // namespace causeway::python
