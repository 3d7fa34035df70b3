// Priors over tables: causeway.prior. The package's Prior and Batch wrap these.
#include "causeway/prior/prior.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace causeway::python {

namespace {

using prior::Batch;
using prior::CountRange;
using prior::DatasetFacts;
using prior::Layout;
using prior::Prior;
using prior::PriorConfig;
using prior::Worlds;

// A range as text, which the library parses and prints itself.
template <CountRange PriorConfig::*kField>
void bind_range(nb::class_<PriorConfig>& config, const char* name) {
  config.def_prop_rw(
      name, [](const PriorConfig& self) { return (self.*kField).to_string(); },
      [name](PriorConfig& self, const std::string& text) {
        self.*kField = CountRange::parse(name, text);
      });
}

template <double PriorConfig::*kLow, double PriorConfig::*kHigh>
void bind_share(nb::class_<PriorConfig>& config, const char* name) {
  config.def_prop_rw(
      name, [](const PriorConfig& self) { return std::pair(self.*kLow, self.*kHigh); },
      [](PriorConfig& self, const std::pair<double, double>& ends) {
        self.*kLow = ends.first;
        self.*kHigh = ends.second;
      });
}

void bind_config(nb::module_& module) {
  nb::class_<PriorConfig> config(module, "_Config", "What is asked of a prior.");
  config.def(nb::init<>())
      .def_rw("family", &PriorConfig::family)
      .def_rw("mix", &PriorConfig::mix)
      .def_rw("regression", &PriorConfig::regression)
      .def_rw("balanced", &PriorConfig::balanced)
      .def_rw("filter_constant", &PriorConfig::filter_constant)
      .def_rw("filter_classes", &PriorConfig::filter_classes)
      .def_rw("filter_predictable", &PriorConfig::filter_predictable)
      .def_rw("filter_trivial", &PriorConfig::filter_trivial)
      .def_rw("edge_offset", &PriorConfig::edge_offset)
      .def_rw("graph_noise", &PriorConfig::graph_noise)
      .def_rw("max_categories", &PriorConfig::max_categories)
      .def_rw("reference_choices", &PriorConfig::reference_choices)
      .def_rw("reference_warps", &PriorConfig::reference_warps)
      .def_rw("reference_categories", &PriorConfig::reference_categories)
      .def_rw("seed", &PriorConfig::seed)
      .def_prop_rw(
          "nodes",
          [](const PriorConfig& self) { return std::pair(self.min_nodes, self.max_nodes); },
          [](PriorConfig& self, const std::pair<int, int>& ends) {
            self.min_nodes = ends.first;
            self.max_nodes = ends.second;
          })
      .def("to_json", &PriorConfig::to_json)
      .def_static("from_json", &PriorConfig::from_json, "text"_a);
  bind_range<&PriorConfig::rows>(config, "rows");
  bind_range<&PriorConfig::features>(config, "features");
  bind_range<&PriorConfig::classes>(config, "classes");
  bind_share<&PriorConfig::train_low, &PriorConfig::train_high>(config, "train_share");
  bind_share<&PriorConfig::missing_low, &PriorConfig::missing_high>(config, "missing_share");
}

nb::tuple to_tuple(const DatasetFacts& facts) {
  return nb::make_tuple(facts.index, facts.family, facts.n_rows, facts.n_features, facts.n_classes,
                        facts.n_train, facts.n_attempts, facts.bayes_error, facts.rejected);
}

void require_place(const Batch& batch, std::int64_t k) {
  if (k < 0 || k >= batch.count) throw_index_error("no such dataset in the batch");
}

void bind_batch(nb::module_& module) {
  nb::class_<Batch>(module, "_Batch", "Datasets in one piece of memory.")
      .def_ro("first", &Batch::first)
      .def_ro("count", &Batch::count)
      .def_ro("x", &Batch::x)
      .def_ro("y", &Batch::y)
      .def_prop_ro("packed", [](const Batch& self) { return self.layout == Layout::packed; })
      .def_prop_ro("places",
                   [](const Batch& self) {
                     nb::list places;
                     for (const Batch::Place& place : self.places) {
                       places.append(nb::make_tuple(place.x, place.y, place.row_stride));
                     }
                     return places;
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

nb::tuple to_tuple(Worlds worlds) {
  return nb::make_tuple(std::move(worlds.x), std::move(worlds.y), std::move(worlds.other_x),
                        std::move(worlds.other_y));
}

void bind_generator(nb::module_& module) {
  nb::class_<Prior>(module, "_Prior", "Makes datasets.")
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
  nb::module_ module = parent.def_submodule("_prior", "Priors over tables.");
  bind_config(module);
  bind_batch(module);
  bind_generator(module);
}

}  // namespace causeway::python
