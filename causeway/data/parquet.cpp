#include "causeway/data/parquet.h"

#include "causeway/core/mapped_file.h"
#include "causeway/data/parquet_pages.h"
#include "causeway/data/utf8.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway {

namespace {

using namespace data::parquet;

constexpr const char* kReadParquet = "read_parquet";

std::string_view text_of(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Tensor integers_of(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

Tensor reals_of(const std::vector<double>& values) {
  return Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())});
}

Tensor booleans_of(const Tensor& integers) { return integers.to(DType::boolean); }

// The mask of missing values; empty if there is none.
Tensor missing_of(const std::vector<bool>& present) {
  std::vector<std::int64_t> missing;
  bool any = false;
  for (const bool value : present) {
    missing.push_back(value ? 0 : 1);
    any = any || !value;
  }
  return any ? booleans_of(integers_of(missing)) : Tensor();
}

std::vector<double> scaled(const std::vector<std::int64_t>& integers, double divisor) {
  std::vector<double> reals;
  reals.reserve(integers.size());
  for (const std::int64_t value : integers) reals.push_back(static_cast<double>(value) / divisor);
  return reals;
}

// Unsigned integers of 64 bits were read as signed ones.
std::vector<double> unsigned_reals(const std::vector<std::int64_t>& integers) {
  std::vector<double> reals;
  for (const std::int64_t value : integers) {
    reals.push_back(static_cast<double>(static_cast<std::uint64_t>(value)));
  }
  return reals;
}

void set_text(const SchemaColumn& from, Values&& values, const data::Origin& origin,
              ParquetColumn& column) {
  if (from.meaning == Meaning::decimal || !data::is_utf8(values.bytes)) {
    origin.fail_format(fmt::format(
        "column {} holds {}; expected numbers, booleans, times or UTF-8", shown(from.name),
        from.meaning == Meaning::decimal ? "long decimals" : "binary data"));
  }
  column.type = ParquetType::text;
  column.bytes = std::move(values.bytes);
  column.offsets = std::move(values.offsets);
}

void set_integers(const SchemaColumn& from, Values&& values, ParquetColumn& column) {
  const bool is_date = from.meaning == Meaning::date;
  if (is_date || from.meaning == Meaning::timestamp || from.physical == Physical::int96) {
    constexpr std::int64_t kSecondsPerDay = 86400;
    if (is_date) {
      for (std::int64_t& day : values.integers) day *= kSecondsPerDay;
    }
    column.type = ParquetType::time;
    column.units_per_second = from.physical == Physical::int96 ? 1000000000
                              : is_date                        ? 1
                                                               : from.units_per_second;
    column.numbers = integers_of(values.integers);
  } else if (from.meaning == Meaning::decimal) {
    column.numbers = reals_of(scaled(values.integers, std::pow(10.0, from.scale)));
  } else if (from.meaning == Meaning::unsigned_integer && from.physical == Physical::int64) {
    column.numbers = reals_of(unsigned_reals(values.integers));
  } else {
    column.numbers = integers_of(values.integers);
  }
}

ParquetColumn column_of(const SchemaColumn& from, Values&& values, const data::Origin& origin) {
  ParquetColumn column;
  column.name = from.name;
  column.missing = missing_of(values.present);
  switch (from.physical) {
    case Physical::bytes: set_text(from, std::move(values), origin, column); break;
    case Physical::float32:
    case Physical::float64: column.numbers = reals_of(values.reals); break;
    case Physical::boolean:
      column.type = ParquetType::boolean;
      column.numbers = booleans_of(integers_of(values.integers));
      break;
    default: set_integers(from, std::move(values), column);
  }
  return column;
}

ParquetTable read(std::string_view file, const data::Origin& origin) {
  const Metadata metadata = read_metadata(file, origin);
  ParquetTable table;
  table.n_rows = metadata.n_rows;
  for (std::size_t i = 0; i < metadata.columns.size(); ++i) {
    const SchemaColumn& column = metadata.columns[i];
    if (column.name.starts_with("__index_level_")) continue;  // of pandas
    if (column.physical == Physical::fixed_bytes) {
      origin.fail_format(fmt::format(
          "column {} holds bytes of a fixed size, which are not supported", shown(column.name)));
    }
    Values values;
    for (const RowGroup& group : metadata.row_groups) {
      read_chunk(group.chunks[i], column, origin, values);
    }
    table.columns.push_back(column_of(column, std::move(values), origin));
  }
  return table;
}

}  // namespace

bool is_parquet(const std::filesystem::path& path) {
  return text_of(MappedFile("read_table", path)).starts_with("PAR1");
}

ParquetTable read_parquet(const std::filesystem::path& path) {
  const MappedFile file(kReadParquet, path);
  const data::Origin origin{kReadParquet, path.string()};
  return file.read_whole([&] { return read(text_of(file), origin); });
}

}  // namespace causeway
