// Tables for tokenizers and estimators: from matrices, columns, Arrow and CSV files.
#include "causeway/core/error.h"
#include "causeway/tables/cells.h"
#include "causeway/tables/csv_table.h"
#include "causeway/tables/target.h"
#include "causeway/tables/weights.h"
#include "python/arrow_import.h"
#include "python/bind.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

namespace causeway::python {

namespace {

using tables::Table;
using tables::TableColumn;
using tables::Text;
using tables::ValueType;

// A list of str and None.
TableColumn text_column(const std::string& name, nb::handle list) {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  std::vector<bool> missing;
  for (nb::handle item : list) {
    missing.push_back(item.is_none());
    if (!item.is_none()) {
      if (!nb::isinstance<nb::str>(item)) {
        fail(ErrorKind::invalid_argument, "table",
             "column \"" + name + "\": expected text or None, got " +
                 nb::cast<std::string>(nb::repr(item)));
      }
      bytes += nb::cast<std::string_view>(item);
    }
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  TableColumn column;
  column.name = name;
  column.type = ValueType::text;
  column.text = Text::from(std::move(bytes), std::move(offsets));
  if (std::find(missing.begin(), missing.end(), true) != missing.end()) {
    column.missing = Tensor::empty({static_cast<std::int64_t>(missing.size())}, DType::boolean);
    std::copy(missing.begin(), missing.end(), column.missing.data_as<bool>());
  }
  return column;
}

// A column is (name, values, mask or None, units per second or 0), with values as a tensor or a
// list of str and None; a categorical one is (name, codes, None, 0, names, ordered).
TableColumn column_of(nb::handle entry) {
  const auto name = nb::cast<std::string>(nb::object(entry[0]));
  const nb::object values = entry[1], mask = entry[2];
  if (!nb::isinstance<Tensor>(values)) return text_column(name, values);
  TableColumn column;
  column.name = name;
  column.numbers = nb::cast<Tensor>(values);
  if (!mask.is_none()) column.missing = nb::cast<Tensor>(mask);
  const auto units = nb::cast<std::int64_t>(nb::object(entry[3]));
  if (nb::len(entry) > 4) {
    const auto names = nb::cast<std::vector<std::string>>(nb::object(entry[4]));
    column.type = ValueType::category;
    column.categories = Text::from(names);
    column.n_categories = static_cast<std::int64_t>(names.size());
    column.ordered = nb::cast<bool>(nb::object(entry[5]));
  } else if (units > 0) {
    column.type = ValueType::time;
    column.units_per_second = units;
  }
  return column;
}

Table table_of(const nb::list& given, std::int64_t n_rows) {
  std::vector<TableColumn> columns;
  for (nb::handle entry : given) columns.push_back(column_of(entry));
  return Table(std::move(columns), n_rows);
}

// The same columns under other names.
Table renamed(const Table& table, std::vector<std::string> names) {
  if (table.is_matrix()) return Table(table.matrix(), std::move(names));
  std::vector<TableColumn> columns = table.columns();
  if (names.size() != columns.size()) {
    fail(
        ErrorKind::invalid_argument, "table",
        std::to_string(names.size()) + " names for " + std::to_string(columns.size()) + " columns");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = std::move(names[i]);
  return Table(std::move(columns), table.n_rows());
}

std::string type_of(const Table& table, const std::string& name) {
  const std::int64_t at = table.find(name);
  if (at < 0) fail(ErrorKind::invalid_argument, "table", "no column \"" + name + "\"");
  const TableColumn& column = table.column(at);
  switch (column.type) {
    case ValueType::number: return column.numbers.dtype() == DType::boolean ? "boolean" : "number";
    case ValueType::time: return "time";
    case ValueType::category: return "category";
    case ValueType::text: break;
  }
  return "text";
}

// The rank of each name; names are distinct.
std::vector<std::int64_t> ranks_of(const std::vector<std::string>& names) {
  std::vector<std::string> sorted = names;
  tables::sort_names(sorted);
  std::vector<std::int64_t> ranks;
  for (const std::string& name : names) {
    ranks.push_back(std::find(sorted.begin(), sorted.end(), name) - sorted.begin());
  }
  return ranks;
}

nb::tuple find_weights(bool regression) {
  const tables::WeightsSearch search = tables::find_weights(regression);
  std::vector<std::string> folders;
  for (const auto& folder : search.folders) folders.push_back(folder.string());
  return nb::make_tuple(search.name, search.found ? nb::cast(search.found->string()) : nb::none(),
                        folders);
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<Table>(module, "_Table", "Typed columns of the same number of rows.")
      .def_static(
          "of_matrix",
          [](const Tensor& matrix, std::vector<std::string> names) {
            return Table(matrix, std::move(names));
          },
          "matrix"_a, "names"_a)
      .def_static("of_columns", table_of, "columns"_a, "n_rows"_a)
      .def_static("of_arrow", table_from_arrow, "source"_a,
                  nb::sig("def of_arrow(source: object) -> _Table"))
      .def("renamed", renamed, "names"_a, "The same columns under other names.")
      .def("type_of", type_of, "name"_a, "number, boolean, time, category or text.")
      .def(
          "is_regression_target",
          [](const Table& table, const std::string& name) {
            return without_gil([&] { return tables::is_regression_target(table, name); });
          },
          "name"_a, "Whether a column as the target is for regression.")
      .def_prop_ro("n_rows", &Table::n_rows)
      .def_prop_ro("is_matrix", &Table::is_matrix)
      .def_prop_ro("names", &Table::names);
  module.def(
      "_read_csv",
      [](const std::filesystem::path& path) {
        return without_gil([&] { return tables::table_of(CsvReader(path).rest()); });
      },
      "path"_a, "Reads a CSV file; types are inferred from the first rows.");
  module.def(
      "_read_csv_table",
      [](const std::filesystem::path& path) {
        return without_gil([&] { return tables::read_csv(path); });
      },
      "path"_a, "Reads a CSV file; types are inferred from all rows.");
  module.def("_ranks_of_names", ranks_of, "names"_a,
             "Ranks of class names: by value if all are numbers, else by bytes.");
  module.def("_find_weights", find_weights, "regression"_a,
             "File name of the packaged weights, its path or None, and the folders searched.");
}

}  // namespace causeway::python
