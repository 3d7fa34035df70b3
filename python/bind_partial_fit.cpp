// Partial fits and their files, which causeway.PartialFit wraps.
#include "causeway/data/safetensors.h"
#include "causeway/tokenizer/streaming/streaming.h"
#include "causeway/tokenizer/options_json.h"
#include "python/bind.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

using namespace causeway::tokenizer;

void bind_partial_fit(nb::module_& module) {
  nb::class_<PartialFit>(module, "_PartialFit", "One part of a distributed fit.")
      .def(nb::init<>())
      .def_static(
          "begin",
          [](const Table& sample, const std::string& options) {
            return PartialFit::begin(sample, read_options(nlohmann::ordered_json::parse(options)));
          },
          "sample"_a, "options"_a)
      .def("fresh", &PartialFit::fresh)
      .def(
          "count",
          [](PartialFit& fit, const Table& batch) { without_gil([&] { fit.count(batch); }); },
          "batch"_a)
      .def(
          "plan",
          [](PartialFit& fit, std::int64_t memory) { without_gil([&] { fit.plan(memory); }); },
          "memory"_a)
      .def(
          "collect",
          [](PartialFit& fit, const Table& batch) { without_gil([&] { fit.collect(batch); }); },
          "batch"_a)
      .def(
          "merge",
          [](PartialFit& fit, const PartialFit& other) { without_gil([&] { fit.merge(other); }); },
          "other"_a)
      .def("finish",
           [](const PartialFit& fit) { return without_gil([&] { return fit.finish(); }); })
      .def_prop_ro("needs_another_pass", &PartialFit::needs_another_pass)
      .def_prop_ro("has_plan", &PartialFit::has_plan)
      .def_prop_ro("n_rows", &PartialFit::n_rows)
      .def(
          "save",
          [](const PartialFit& fit, const std::filesystem::path& path) {
            without_gil([&] {
              const PartialState state = fit.state();
              save_safetensors(path, state.tensors, state.metadata);
            });
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            return without_gil([&] {
              SafetensorsFile file = load_safetensors(path);
              return PartialFit::from_state({std::move(file.tensors), std::move(file.metadata)},
                                            path.string());
            });
          },
          "path"_a)
      .def_prop_ro("rank_errors", &PartialFit::rank_errors)
      .def("estimate",
           [](const PartialFit& fit) { return without_gil([&] { return fit.estimate(); }); });
}

}  // namespace causeway::python
