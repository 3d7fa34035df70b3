// Models: causeway.models, whose classes derive from these.
#include "causeway/models/predictor.h"
#include "causeway/models/tabular_file.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using models::TableContext;
using models::Tables;
using models::TabularConfig;
using models::TabularPredictor;
using models::TabularTransformer;

Device device_of(const TabularTransformer& model) { return model.parameters().front().device(); }

Tensor as_table(nb::handle values, DType dtype, Device device) {
  return autograd::detach(as_tensor(values)).to(device).to(dtype).contiguous();
}

// `sizes` (tables, 3), or how many rows of every table are known where no table is padded.
Tables as_tables(const TabularTransformer& model, nb::handle x, nb::handle y, nb::handle sizes) {
  const Device device = device_of(model);
  Tables tables{as_table(x, DType::f32, device), as_table(y, DType::f32, device), {}};
  if (!nb::isinstance<nb::int_>(sizes)) {
    tables.sizes = as_table(sizes, DType::i64, device);
    return tables;
  }
  if (tables.x.n_dims() != 3) throw nb::value_error("x must be (tables, rows, features)");
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tables.x.size(0); ++i) {
    values.insert(values.end(),
                  {tables.x.size(1), tables.x.size(2), nb::cast<std::int64_t>(sizes)});
  }
  tables.sizes = Tensor::from<std::int64_t>(values, {tables.x.size(0), 3}, device);
  return tables;
}

void bind_context(nb::module_& module) {
  nb::class_<TableContext>(module, "TableContext", "What a model keeps of the rows it knows.")
      .def_ro("sizes", &TableContext::sizes, "(tables, 3): rows, features, known rows.")
      .def_prop_ro(
          "nbytes",
          [](const TableContext& self) {
            std::size_t bytes = 0;
            for (const Tensor& layer : self.layers) bytes += layer.n_bytes();
            return bytes;
          },
          "The memory it takes.");
}

void bind_tabular(nb::module_& module) {
  nb::class_<TabularTransformer, nn::Module>(module, "_TabularTransformer")
      .def(
          "__init__",
          [](TabularTransformer* self, const std::string& config, DTypeArg dtype, Device device,
             Generator* generator) {
            new (self) TabularTransformer(TabularConfig::from_json(config),
                                          {dtype.value, device, generator});
          },
          "config"_a, "dtype"_a.sig("f32") = DTypeArg{}, "device"_a = Device::cpu(),
          "generator"_a.none() = nb::none())
      .def_static("_preset",
                  [](std::string_view name) { return TabularConfig::preset(name).to_json(); })
      .def_prop_ro("_config",
                   [](const TabularTransformer& self) { return self.config().to_json(); })
      .def_prop_ro(
          "device", [](const TabularTransformer& self) { return device_of(self); },
          "Where the parameters are.")
      .def(
          "logits",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.logits(tables); });
          },
          "x"_a, "y"_a, "sizes"_a,
          "(tables, rows, outputs) of x (tables, rows, features), NaN where missing, and y "
          "(tables, "
          "rows), whose known rows come first. sizes is (tables, 3), each table's rows, features "
          "and known rows, or the number of known rows where no table is padded.")
      .def(
          "loss",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.loss(tables); });
          },
          "x"_a, "y"_a, "sizes"_a, "The mean cross entropy of the rows that are not known.")
      .def(
          "remember",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            if (sizes.is_none()) {
              const auto shape = nb::cast<nb::tuple>(nb::borrow(y).attr("shape"));
              const nb::object rows = nb::borrow(shape[shape.size() - 1]);
              const Tables tables = as_tables(self, x, y, rows);
              return without_gil([&] { return self.remember(tables); });
            }
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.remember(tables); });
          },
          "x"_a, "y"_a, "sizes"_a.none() = nb::none(),
          "Keeps what is known of tables, to tell other rows by; all rows, without sizes.")
      .def(
          "tell",
          [](TabularTransformer& self, const TableContext& context, nb::handle x) {
            const Tensor rows = as_table(x, DType::f32, device_of(self));
            return without_gil([&] { return self.tell(context, rows); });
          },
          "context"_a, "x"_a, "The logits of rows (tables, rows, features) that are not known.")
      .def(
          "borders",
          [](const TabularTransformer& self) -> nb::object {
            return self.borders() == nullptr ? nb::none() : nb::cast(*self.borders());
          },
          "Of a numeric target, standardised by the known rows: where its bins meet.")
      .def("centres", &TabularTransformer::centres, "The bins' means.")
      .def("matrices", &TabularTransformer::matrices,
           "The matrices of the layers, which Muon is for.")
      .def("others", &TabularTransformer::others, "All other parameters.");
}

void bind_predictor(nb::module_& module) {
  const auto as_numbers = [](nb::handle values) {
    return as_table(values, DType::f64, Device::cpu());
  };
  nb::class_<TabularPredictor>(module, "_TabularPredictor",
                               "Keeps rows whose target is known, and tells others by them.")
      .def(
          "__init__",
          [](TabularPredictor* self, std::shared_ptr<TabularTransformer> model,
             std::int64_t n_estimators, std::int64_t max_features, std::int64_t max_rows,
             std::uint64_t seed, std::size_t cache_bytes) {
            new (self) TabularPredictor(std::move(model),
                                        {n_estimators, max_features, max_rows, seed, cache_bytes});
          },
          "model"_a, "n_estimators"_a, "max_features"_a, "max_rows"_a, "seed"_a, "cache_bytes"_a)
      .def(
          "fit",
          [as_numbers](TabularPredictor& self, nb::handle x, nb::handle y, std::int64_t n_classes,
                       const std::vector<std::string>& names) {
            const Tensor table = as_numbers(x);
            const Tensor targets = as_numbers(y);
            without_gil([&] { self.fit(table, targets, n_classes, names); });
            return self.notes();
          },
          "x"_a, "y"_a, "n_classes"_a, "names"_a, "Returns what it left out, in sentences.")
      .def_prop_ro("is_regression", &TabularPredictor::is_regression)
      .def(
          "probabilities",
          [as_numbers](TabularPredictor& self, nb::handle x) {
            const Tensor rows = as_numbers(x);
            return without_gil([&] { return self.probabilities(rows); });
          },
          "x"_a, "(rows, classes) f64.")
      .def(
          "numbers",
          [as_numbers](TabularPredictor& self, nb::handle x) {
            const Tensor rows = as_numbers(x);
            return without_gil([&] { return self.numbers(rows); });
          },
          "x"_a, "(rows,) f64.");
}

void bind_files(nb::module_& module) {
  module.def(
      "_save_tabular",
      [](const std::string& path, const TabularTransformer& model) {
        without_gil([&] { models::save_tabular(path, model); });
      },
      "path"_a, "model"_a);
  module.def(
      "_read_tabular",
      [](const std::string& path) {
        const auto model = without_gil([&] { return models::load_tabular(path); });
        return nb::make_tuple(model->config().to_json(), model->state());
      },
      "path"_a, "The configuration and the state.");
}

}  // namespace

void bind_models(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_models", "Models.");
  bind_context(module);
  bind_tabular(module);
  bind_predictor(module);
  bind_files(module);
}

}  // namespace causeway::python
