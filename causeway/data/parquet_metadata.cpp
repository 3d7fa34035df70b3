#include "causeway/data/parquet_metadata.h"

#include "causeway/data/thrift.h"

#include <fmt/format.h>

#include <cstring>

namespace causeway::data::parquet {

namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;
constexpr std::int64_t kMostPageBytes = std::int64_t{1} << 30;

// One element of the schema: the root, or a column.
struct Element {
  SchemaColumn column;
  bool repeated = false;
  std::int64_t n_children = 0;
};

// The unit of a timestamp is the field that is present: 1 milliseconds, 2 microseconds, 3
// nanoseconds.
std::int64_t read_time_unit(ThriftReader& reader) {
  std::int64_t units = 1;
  reader.structure([&](int id, ThriftType) {
    units = id == 1 ? 1000 : id == 2 ? 1000000 : 1000000000;
    return false;
  });
  return units;
}

// The union LogicalType: the field that is present says what it is.
void read_logical_type(ThriftReader& reader, SchemaColumn& column) {
  reader.structure([&](int id, ThriftType) {
    if (id == 1 || id == 4) column.meaning = Meaning::text;  // string, enum
    if (id == 5) column.meaning = Meaning::decimal;
    if (id == 6) column.meaning = Meaning::date;
    if (id == 10) {
      reader.structure([&](int inner, ThriftType type) {
        if (inner == 2 && type == ThriftType::no) column.meaning = Meaning::unsigned_integer;
        return false;
      });
      return true;
    }
    if (id != 8) return false;
    column.meaning = Meaning::timestamp;
    reader.structure([&](int inner, ThriftType) {
      if (inner == 2) column.units_per_second = read_time_unit(reader);
      return inner == 2;
    });
    return true;
  });
}

// The older ConvertedType.
void set_converted_type(std::int64_t code, SchemaColumn& column) {
  if (code == 0 || code == 4) column.meaning = Meaning::text;
  if (code == 5) column.meaning = Meaning::decimal;
  if (code == 6) column.meaning = Meaning::date;
  if (code == 9 || code == 10) {
    column.meaning = Meaning::timestamp;
    column.units_per_second = code == 9 ? 1000 : 1000000;
  }
  if (code >= 11 && code <= 14) column.meaning = Meaning::unsigned_integer;
}

Element read_element(ThriftReader& reader, const Origin& origin) {
  Element element;
  SchemaColumn& column = element.column;
  reader.structure([&](int id, ThriftType) {
    switch (id) {
      case 1: {
        const std::int64_t code = reader.integer();
        if (code < 0 || code > 7) origin.fail_format("the schema has an unknown type");
        column.physical = static_cast<Physical>(code);
        return true;
      }
      case 3: {
        const std::int64_t repetition = reader.integer();
        column.optional = repetition == 1;
        element.repeated = repetition == 2;
        return true;
      }
      case 4: column.name = std::string(reader.text()); return true;
      case 5: element.n_children = reader.integer(); return true;
      case 6: set_converted_type(reader.integer(), column); return true;
      case 7: column.scale = static_cast<int>(reader.integer()); return true;
      case 10: read_logical_type(reader, column); return true;
      default: return false;
    }
  });
  return element;
}

void read_schema(ThriftReader& reader, const Origin& origin, std::vector<SchemaColumn>& columns) {
  bool is_root = true;
  reader.list([&] {
    const Element element = read_element(reader, origin);
    if (!is_root && (element.n_children > 0 || element.repeated)) {
      origin.fail_format(fmt::format("column {} is nested; expected one value per row",
                                     shown(element.column.name)));
    }
    if (!is_root) columns.push_back(element.column);
    is_root = false;
  });
}

Chunk read_chunk_metadata(ThriftReader& reader, std::string_view file, const Origin& origin) {
  Chunk chunk;
  std::int64_t size = -1;
  std::int64_t data_offset = -1;
  std::int64_t dictionary_offset = 0;
  reader.structure([&](int id, ThriftType) {
    switch (id) {
      case 4: {
        const std::int64_t code = reader.integer();
        if (code < 0 || code > 7) origin.fail_format("a column has an unknown compression");
        chunk.codec = static_cast<Codec>(code);
        return true;
      }
      case 5: chunk.n_values = reader.integer(); return true;
      case 7: size = reader.integer(); return true;
      case 9: data_offset = reader.integer(); return true;
      case 11: dictionary_offset = reader.integer(); return true;
      default: return false;
    }
  });
  const bool has_dictionary = dictionary_offset > 0 && dictionary_offset < data_offset;
  const std::int64_t begin = has_dictionary ? dictionary_offset : data_offset;
  const auto file_size = static_cast<std::int64_t>(file.size());
  if (begin < 0 || size < 0 || begin > file_size || size > file_size - begin) {
    origin.fail_format("a column lies outside the file; it is truncated or damaged");
  }
  chunk.pages = file.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
  return chunk;
}

RowGroup read_row_group(ThriftReader& reader, std::string_view file, const Origin& origin) {
  RowGroup group;
  reader.structure([&](int id, ThriftType) {
    if (id == 3) {
      group.n_rows = reader.integer();
      return true;
    }
    if (id != 1) return false;
    reader.list([&] {
      reader.structure([&](int inner, ThriftType) {
        if (inner == 1)
          origin.fail_format("its columns are in other files, which is not supported");
        if (inner != 3) return false;
        group.chunks.push_back(read_chunk_metadata(reader, file, origin));
        return true;
      });
    });
    return true;
  });
  return group;
}

void check(const Metadata& metadata, const Origin& origin) {
  std::int64_t n_rows = 0;
  for (const RowGroup& group : metadata.row_groups) {
    bool agrees = group.chunks.size() == metadata.columns.size() && group.n_rows >= 0 &&
                  group.n_rows <= kMostRows;
    for (const Chunk& chunk : group.chunks) agrees = agrees && chunk.n_values == group.n_rows;
    if (!agrees) origin.fail_format("a row group does not agree with the schema; it is damaged");
    n_rows += group.n_rows;
    if (n_rows > kMostRows) origin.fail_format("expected at most 2^31 rows");
  }
  if (n_rows != metadata.n_rows) origin.fail_format("the number of rows is damaged");
}

}  // namespace

Metadata read_metadata(std::string_view file, const Origin& origin) {
  const std::size_t ends = 2 * kMagic.size() + 4;
  if (file.size() < ends || !file.starts_with(kMagic) || !file.ends_with(kMagic)) {
    origin.fail_format("not a whole Parquet file; it may be truncated or encrypted");
  }
  std::uint32_t size = 0;
  std::memcpy(&size, file.data() + file.size() - 8, sizeof(size));
  if (size > file.size() - ends) origin.fail_format("the metadata is truncated");
  ThriftReader reader(file.substr(file.size() - 8 - size, size), origin);
  Metadata metadata;
  reader.structure([&](int id, ThriftType) {
    if (id == 3) metadata.n_rows = reader.integer();
    if (id == 2) read_schema(reader, origin, metadata.columns);
    if (id == 4) {
      reader.list([&] { metadata.row_groups.push_back(read_row_group(reader, file, origin)); });
    }
    return id >= 2 && id <= 4;
  });
  check(metadata, origin);
  return metadata;
}

PageHeader read_page_header(std::string_view& pages, const Origin& origin) {
  ThriftReader reader(pages, origin);
  PageHeader header;
  const auto read_details = [&](int encoding_id) {
    reader.structure([&](int id, ThriftType type) {
      if (id == 1) {
        header.n_values = reader.integer();
      } else if (id == encoding_id) {
        header.encoding = static_cast<int>(reader.integer());
      } else if (header.type == PageType::data_v2 && (id == 5 || id == 6)) {
        const std::int64_t size = reader.integer();
        if (size < 0 || size > kMostPageBytes) origin.fail_format("a page header is damaged");
        header.levels_size += size;
      } else {
        if (header.type == PageType::data_v2 && id == 7) {
          header.is_compressed = type == ThriftType::yes;
        }
        return false;
      }
      return true;
    });
    return true;
  };
  reader.structure([&](int id, ThriftType) {
    switch (id) {
      case 1: header.type = static_cast<PageType>(reader.integer()); return true;
      case 2: header.decompressed_size = reader.integer(); return true;
      case 3: header.size = reader.integer(); return true;
      case 5:
      case 7: return read_details(2);
      case 8: return read_details(4);
      default: return false;
    }
  });
  pages.remove_prefix(reader.position());
  const bool fits = header.size >= 0 && header.size <= static_cast<std::int64_t>(pages.size()) &&
                    header.decompressed_size >= 0 && header.decompressed_size <= kMostPageBytes &&
                    header.n_values >= 0 && header.levels_size <= header.size;
  if (!fits) origin.fail_format("a page header is damaged");
  return header;
}

}  // namespace causeway::data::parquet
