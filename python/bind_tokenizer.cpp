// The tokenizer, which causeway.Tokenizer (causeway/tokenizer.py) wraps.
#include "causeway/tokenizer/artefact/drift.h"
#include "causeway/tokenizer/artefact/export.h"
#include "causeway/tokenizer/fit/order_statistics.h"
#include "causeway/tokenizer/tokenizer.h"
#include "causeway/tokenizer/options_json.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using namespace causeway::tokenizer;

nb::dict describe_slot(const Slot& slot) {
  nb::dict out;
  out["name"] = slot.name;
  out["column"] = slot.column;
  out["n_values"] = slot.n_values;
  out["n_unknown"] = slot.n_unknown;
  out["first_token"] = slot.offset;
  out["n_tokens"] = slot.n_tokens();
  out["missing_token"] = slot.has_missing ? nb::cast(slot.missing_token()) : nb::none();
  out["counts"] = slot.counts.empty() ? nb::none() : nb::cast(slot.counts);
  return out;
}

nb::dict describe_column(const Column& column) {
  nb::dict out;
  out["name"] = column.name;
  out["kind"] = std::string(to_string(column.kind));
  out["dtype"] = column.dtype;
  out["n_rows"] = column.n_rows;
  out["n_missing"] = column.n_missing;
  if (column.kind == ColumnKind::numeric) {
    out["edges"] = column.bins.edges;
    out["counts"] = column.bins.counts;
    out["medians"] = column.bins.medians;
  } else if (column.kind != ColumnKind::datetime) {
    out["values"] = column.vocabulary.values();
    out["counts"] = column.vocabulary.counts();
  }
  return out;
}

nb::object decoded_column(const DecodedColumn& column) {
  nb::dict out;
  out["name"] = column.name;
  if (column.is_text) {
    nb::list list;
    for (std::size_t i = 0; i < column.text.size(); ++i) {
      list.append(column.missing[i] ? nb::none() : nb::cast(column.text[i]));
    }
    out["values"] = list;
    return out;
  }
  const auto tensor = [](const std::vector<double>& values) {
    return Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())});
  };
  out["values"] = tensor(column.numbers);
  if (!column.high.empty()) out["high"] = tensor(column.high);
  return out;
}

nb::list describe_drift(const Tokenizer& tokenizer, const Table& table) {
  const auto drifts = without_gil([&] { return drift_of(tokenizer, table); });
  nb::list out;
  for (const SlotDrift& drift : drifts) {
    nb::dict entry;
    entry["name"] = drift.name;
    entry["counts"] = drift.counts;
    entry["missing_rate"] = drift.missing_rate;
    entry["missing_rate_at_fit"] = drift.missing_rate_at_fit;
    entry["unknown_rate"] = drift.unknown_rate;
    entry["stability_index"] = drift.stability_index;
    out.append(entry);
  }
  return out;
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  nb::class_<Tokenizer>(module, "_Tokenizer", "The compiled part of causeway.Tokenizer.")
      .def_static(
          "fit",
          [](const Table& table, const std::string& options, std::optional<Tensor> weights,
             std::optional<Tensor> target) {
            const Options chosen = read_options(nlohmann::ordered_json::parse(options));
            return without_gil([&] {
              return Tokenizer::fit(table, chosen,
                                    {weights.value_or(Tensor()), target.value_or(Tensor())});
            });
          },
          "table"_a, "options"_a, "weights"_a = nb::none(), "target"_a = nb::none())
      .def(
          "encode",
          [](const Tokenizer& self, const Table& table, Maybe<DTypeArg> dtype) {
            EncodeOptions options;
            if (dtype.value.has_value()) options.dtype = dtype.value->value;
            return without_gil([&] { return self.encode(table, options); });
          },
          "table"_a, "dtype"_a = nb::none())
      .def(
          "piecewise_linear",
          [](const Tokenizer& self, const Table& table) {
            return without_gil([&] { return self.piecewise_linear(table); });
          },
          "table"_a)
      .def(
          "one_hot",
          [](const Tokenizer& self, const Table& table, DTypeArg dtype) {
            return without_gil([&] { return self.one_hot(table, dtype); });
          },
          "table"_a, "dtype"_a = DTypeArg{DType::u8})
      .def(
          "decode",
          [](const Tokenizer& self, const Tensor& tokens, const std::string& how) {
            const Decoding decoding = parse_decoding(how);
            const auto columns = without_gil([&] { return self.decode(tokens, decoding); });
            nb::list out;
            for (const DecodedColumn& column : columns) out.append(decoded_column(column));
            return out;
          },
          "tokens"_a, "how"_a = "centre")
      .def("drift", describe_drift, "table"_a)
      .def(
          "export",
          [](const Tokenizer& self, const std::string& format) { return export_as(self, format); },
          "format"_a)
      .def("token_names",
           [](const Tokenizer& self) {
             std::vector<std::string> names;
             for (const Slot& slot : self.slots()) {
               for (std::string& name : token_names(self, slot)) names.push_back(std::move(name));
             }
             return names;
           })
      .def("to_json", &Tokenizer::to_json)
      .def_static(
          "from_json", [](const std::string& text) { return Tokenizer::from_json(text); }, "text"_a)
      .def(
          "save",
          [](const Tokenizer& self, const std::filesystem::path& path) {
            without_gil([&] { self.save(path); });
          },
          "path"_a)
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            return without_gil([&] { return Tokenizer::load(path); });
          },
          "path"_a)
      .def_rw("source", &Tokenizer::source)
      .def_prop_ro("n_tokens", &Tokenizer::n_tokens)
      .def_prop_ro("token_dtype",
                   [](const Tokenizer& self) { return DTypeArg{self.token_dtype()}; })
      .def_prop_ro("slots",
                   [](const Tokenizer& self) {
                     nb::list out;
                     for (const Slot& slot : self.slots()) out.append(describe_slot(slot));
                     return out;
                   })
      .def_prop_ro("columns", [](const Tokenizer& self) {
        nb::list out;
        for (const Column& column : self.columns()) out.append(describe_column(column));
        return out;
      });
  module.def(
      "_find_quantiles",
      [](const Tensor& matrix, const std::string& method, std::vector<std::vector<double>> levels) {
        const QuantileMethod chosen = parse_quantile_method(method);
        const auto found =
            without_gil([&] { return find_quantiles(matrix, Tensor(), chosen, levels); });
        nb::list out;
        for (const ColumnQuantiles& column : found) out.append(nb::cast(column.values));
        return out;
      },
      "matrix"_a, "method"_a, "levels"_a, "Quantiles of every column of a matrix.");
}

}  // namespace causeway::python
