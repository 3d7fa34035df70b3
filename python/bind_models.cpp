// Models: causeway.models, whose classes derive from these.
#include "causeway/models/tabular_file.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using models::TableContext;
using models::Tables;
using models::TabularConfig;
using models::TabularTransformer;

Device device_of(const TabularTransformer& model) { return model.parameters().front().device(); }

Tensor as_table(nb::handle values, DType dtype, Device device) {
  return autograd::detach(as_tensor(values)).to(device).to(dtype).contiguous();
}

// `sizes` is (tables, 3), or the number of context rows if no table is padded.
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
  nb::class_<TableContext>(module, "TableContext",
                           "Keys and values of context rows, for predict_logits.")
      .def_ro("sizes", &TableContext::sizes, "(tables, 3): rows, features, context rows.")
      .def_ro("_layers", &TableContext::layers)
      .def_ro("_keys", &TableContext::keys)
      .def_ro("_labels", &TableContext::y)
      .def_prop_ro("_moments", [](const TableContext& self) { return self.statistics.moments; })
      .def_prop_ro("_sorted", [](const TableContext& self) { return self.statistics.sorted; })
      .def_prop_ro(
          "nbytes",
          [](const TableContext& self) {
            std::size_t bytes = 0;
            for (const Tensor& layer : self.layers) bytes += layer.n_bytes();
            return bytes;
          },
          "Size in bytes.");
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
          "Device of the parameters.")
      .def(
          "logits",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.logits(tables); });
          },
          "x"_a, "y"_a, "sizes"_a,
          "Logits (tables, rows, outputs) of x (tables, rows, features), NaN for missing values, "
          "and y "
          "(tables, rows); context rows come first. sizes is (tables, 3), each table's rows, "
          "features and context rows, or the number of context rows if no table is padded.")
      .def(
          "loss",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.loss(tables); });
          },
          "x"_a, "y"_a, "sizes"_a, "The mean cross entropy of the query rows.")
      .def(
          "encode_context",
          [](TabularTransformer& self, nb::handle x, nb::handle y, nb::handle sizes) {
            if (sizes.is_none()) {
              const auto shape = nb::cast<nb::tuple>(nb::borrow(y).attr("shape"));
              const nb::object rows = nb::borrow(shape[shape.size() - 1]);
              const Tables tables = as_tables(self, x, y, rows);
              return without_gil([&] { return self.encode_context(tables); });
            }
            const Tables tables = as_tables(self, x, y, sizes);
            return without_gil([&] { return self.encode_context(tables); });
          },
          "x"_a, "y"_a, "sizes"_a.none() = nb::none(),
          "Encodes the context rows of tables for predict_logits; without sizes, all rows are "
          "context.")
      .def(
          "predict_logits",
          [](TabularTransformer& self, const TableContext& context, nb::handle x) {
            const Tensor rows = as_table(x, DType::f32, device_of(self));
            return without_gil([&] { return self.predict_logits(context, rows); });
          },
          "context"_a, "x"_a, "Logits of query rows (tables, rows, features).")
      .def(
          "borders",
          [](const TabularTransformer& self) -> nb::object {
            return self.borders() == nullptr ? nb::none() : nb::cast(*self.borders());
          },
          "Borders of the bins of the standardised target (regression), else None.")
      .def("centres", &TabularTransformer::centres, "Means of the bins.")
      .def("matrices", &TabularTransformer::matrices, "The matrices of the layers, for Muon.")
      .def("others", &TabularTransformer::others, "All other parameters.");
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
      "path"_a, "Reads (configuration, state).");
}

}  // namespace

void bind_models(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_models", "Models.");
  bind_context(module);
  bind_tabular(module);
  bind_gpt(module);
  bind_estimators(module);
  bind_files(module);
}

}  // namespace causeway::python
