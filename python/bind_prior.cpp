// Priors: causeway.prior, whose Prior and Batch wrap these.
#include "causeway/core/config.h"
#include "causeway/prior/prior.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nlohmann/json.hpp>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace causeway::python {

namespace {

using prior::Batch;
using prior::Counterfactual;
using prior::DatasetFacts;
using prior::Layout;
using prior::Prior;
using prior::PriorConfig;

void bind_config(nb::module_& module) {
  module.def("fields", [] { return prior::describe_prior().to_table().dump(); });
  nb::class_<PriorConfig>(module, "_Config", "The configuration of a prior.")
      .def_rw("seed", &PriorConfig::seed)
      .def("to_json", &PriorConfig::to_json)
      .def_static("from_json", &PriorConfig::from_json, "text"_a)
      .def_static(
          "from_settings",
          [](const std::string& settings) {
            PriorConfig config;
            prior::describe_prior().read(&config, Json::parse(settings));
            config.check();
            return config;
          },
          "settings"_a);
}

nb::tuple to_tuple(const DatasetFacts& facts) {
  return nb::make_tuple(facts.index, facts.family, facts.n_rows, facts.n_features, facts.n_classes,
                        facts.n_train, facts.n_attempts, facts.bayes_error, facts.rejected);
}

void require_place(const Batch& batch, std::int64_t k) {
  if (k < 0 || k >= batch.count) throw_index_error("dataset index out of range of the batch");
}

void bind_batch(nb::module_& module) {
  nb::class_<Batch>(module, "_Batch", "A batch of datasets.")
      .def_ro("first", &Batch::first)
      .def_ro("count", &Batch::count)
      .def_ro("x", &Batch::x)
      .def_ro("y", &Batch::y)
      .def_prop_ro("packed", [](const Batch& self) { return self.layout == Layout::packed; })
      .def_prop_ro("offsets",
                   [](const Batch& self) {
                     nb::list offsets;
                     for (const Batch::Offsets& of : self.offsets) {
                       offsets.append(nb::make_tuple(of.x, of.y, of.row_stride));
                     }
                     return offsets;
                   })
      .def("facts",
           [](const Batch& self) {
             without_gil([&] { self.facts(); });  // waits for the device
             nb::list facts;
             for (const DatasetFacts& of : self.facts()) facts.append(to_tuple(of));
             return facts;
           })
      .def(
          "dataset",
          [](const Batch& self, std::int64_t k) {
            require_place(self, k);
            return without_gil([&] { return std::pair(self.x_of(k), self.y_of(k)); });
          },
          "k"_a)
      .def(
          "hash",
          [](const Batch& self, std::int64_t k) {
            require_place(self, k);
            return without_gil([&] { return prior::hash_dataset(self, k); });
          },
          "k"_a)
      .def(
          "to",
          [](const Batch& self, Device device) {
            return without_gil([&] { return self.to(device); });
          },
          "device"_a);
}

nb::tuple to_tuple(Counterfactual pair) {
  return nb::make_tuple(std::move(pair.x), std::move(pair.y), std::move(pair.counterfactual_x),
                        std::move(pair.counterfactual_y));
}

void bind_generator(nb::module_& module) {
  nb::class_<Prior>(module, "_Prior", "Generates datasets.")
      .def(nb::init<const PriorConfig&, Device>(), "config"_a, "device"_a)
      .def_prop_ro("config", &Prior::config)
      .def_prop_ro("device", &Prior::device)
      .def(
          "batch",
          [](const Prior& self, std::uint64_t first, std::int64_t count, bool packed) {
            return without_gil(
                [&] { return self.batch(first, count, packed ? Layout::packed : Layout::padded); });
          },
          "first"_a, "count"_a, "packed"_a)
      .def(
          "describe",
          [](const Prior& self, std::uint64_t index) {
            return without_gil([&] { return self.describe(index).to_json(); });
          },
          "index"_a)
      .def(
          "intervene",
          [](const Prior& self, std::uint64_t index, int column, double value) {
            return to_tuple(without_gil([&] { return self.intervene(index, column, value); }));
          },
          "index"_a, "column"_a, "value"_a)
      .def(
          "without_noise",
          [](const Prior& self, std::uint64_t index) {
            return to_tuple(without_gil([&] { return self.without_noise(index); }));
          },
          "index"_a);
  module.def(
      "hash_all", [](const std::vector<std::uint64_t>& hashes) { return prior::hash_all(hashes); },
      "hashes"_a);
  module.def("family_names", [] { return prior::family_names(); });
  module.def("rejection_reasons", [] { return prior::rejection_reasons(); });
}

}  // namespace

void bind_prior(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_prior", "Priors.");
  bind_config(module);
  bind_batch(module);
  bind_generator(module);
}

}  // namespace causeway::python
