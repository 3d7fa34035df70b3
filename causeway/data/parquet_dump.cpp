#include "causeway/data/parquet_dump.h"

#include "causeway/data/parquet_metadata.h"
#include "causeway/data/random_access.h"
#include "causeway/data/tensor_bytes.h"
#include "causeway/data/thrift_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace causeway::data {

namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr int kRequired = 0;
constexpr int kRepeated = 2;
constexpr int kList = 3;  // as converted type, and as logical type

parquet::Physical physical_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return parquet::Physical::float32;
    case DType::i32: return parquet::Physical::int32;
    case DType::i64: return parquet::Physical::int64;
    default:
      fail(ErrorKind::invalid_argument, "parquet",
           fmt::format("dtype {}: expected f32, i32 or i64", to_string(dtype)));
  }
}

std::string little_endian(std::uint32_t value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// Runs of equal levels, with the length that precedes them.
class Levels {
 public:
  void run(std::uint64_t count, char level) {
    if (count > 0) bytes_ += varint_bytes(count << 1) + level;
  }
  std::string finish() const {
    return little_endian(static_cast<std::uint32_t>(bytes_.size())) + bytes_;
  }

 private:
  std::string bytes_;
};

// Repetition and definition levels of one array: where lists begin, and that nothing is null.
std::string levels_of(const Shape& entry) {
  const auto n_values = static_cast<std::uint64_t>(numel(entry));
  const auto width = static_cast<std::uint64_t>(entry[entry.size() - 1]);
  const auto innermost = static_cast<char>(entry.size());
  Levels repetition;
  for (std::uint64_t row = 0; row < n_values / width; ++row) {
    repetition.run(1, row == 0 ? '\0' : '\1');
    repetition.run(width - 1, innermost);
  }
  Levels definition;
  definition.run(n_values, innermost);
  return repetition.finish() + definition.finish();
}

std::string page_header(std::uint64_t n_values, std::uint64_t n_bytes) {
  ThriftWriter header;
  header.i32(1, static_cast<int>(parquet::PageType::data));
  header.i32(2, static_cast<std::int64_t>(n_bytes));
  header.i32(3, static_cast<std::int64_t>(n_bytes));
  header.structure(5, [&] {
    header.i32(1, static_cast<std::int64_t>(n_values));
    header.i32(2, static_cast<int>(parquet::Encoding::plain));
    header.i32(3, static_cast<int>(parquet::Encoding::rle));
    header.i32(4, static_cast<int>(parquet::Encoding::rle));
  });
  return header.finish();
}

// A column: every entry of an array is a page with the same header and levels; numbers share one
// page per row group.
struct Column {
  explicit Column(const ArrayColumn& of)
      : what(of),
        values_per_entry(static_cast<std::uint64_t>(numel(of.entry))),
        value_bytes(values_per_entry * size_of(of.dtype)) {
    physical_of(of.dtype);
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // a page has a 32-bit size
    if (of.entry.size() > 2 || values_per_entry == 0 || value_bytes > kMostBytes) {
      fail(
          ErrorKind::invalid_argument, "parquet",
          fmt::format("{}: entries of shape {}: expected up to two dimensions and 1 GiB, not empty",
                      shown(of.name), to_string(of.entry)));
    }
    if (!is_array()) return;
    const std::string levels = levels_of(of.entry);
    prefix = page_header(values_per_entry, levels.size() + value_bytes) + levels;
  }

  bool is_array() const { return !what.entry.empty(); }
  // What precedes the first value of a row group with `n` entries.
  std::string start_of(std::uint64_t n) const {
    return is_array() ? prefix : page_header(n, n * value_bytes);
  }
  std::uint64_t entry_bytes() const { return prefix.size() + value_bytes; }
  std::uint64_t chunk_bytes(std::uint64_t n) const {
    return n * entry_bytes() + (is_array() ? 0 : start_of(n).size());
  }

  ArrayColumn what;
  std::uint64_t values_per_entry;
  std::uint64_t value_bytes;  // of one entry
  std::string prefix;         // of the page of an array
};

class ParquetDump : public ArrayFile {
 public:
  ParquetDump(std::string_view operation, const std::filesystem::path& path,
              const ArrayLayout& layout, bool is_new)
      : operation_(operation),
        layout_(layout),
        columns_(layout.columns.begin(), layout.columns.end()),
        file_(operation, path, is_new) {
    if (is_new) {
      file_.resize(0);
      file_.resize(end());
      file_.write(kMagic, 0);
    } else if (file_.size() < end()) {
      origin().fail_format(fmt::format("expected at least {} bytes, got {}; the dump is truncated",
                                       end(), file_.size()));
    }
  }

  const ArrayLayout& layout() const override { return layout_; }

  void write(std::string_view name, std::int64_t first, const Tensor& values) override {
    const Column& column = column_of(name, first, values.size(0));
    const Tensor packed = packed_on_host(values);
    const auto bytes = bytes_of(packed);
    visit(column, first, values.size(0),
          [&](std::uint64_t at, std::uint64_t done, std::uint64_t n) {
            std::string pages;
            for (std::uint64_t k = done; k < done + n; ++k) {
              pages += column.prefix;
              const auto entry = bytes.subspan(k * column.value_bytes, column.value_bytes);
              pages.append(reinterpret_cast<const char*>(entry.data()), entry.size());
            }
            file_.write(pages, at);
          });
  }

  Tensor read(std::string_view name, std::int64_t first, std::int64_t count) override {
    const Column& column = column_of(name, first, count);
    Shape shape = column.what.entry;
    shape.insert(0, count);
    Tensor values = Tensor::empty(shape, column.what.dtype);
    auto* out = static_cast<std::byte*>(values.data());
    visit(column, first, count, [&](std::uint64_t at, std::uint64_t done, std::uint64_t n) {
      std::string pages(n * column.entry_bytes(), '\0');
      file_.read(std::as_writable_bytes(std::span(pages)), at);
      for (std::uint64_t k = 0; k < n; ++k) {
        const std::string_view page =
            std::string_view(pages).substr(k * column.entry_bytes(), column.entry_bytes());
        if (!page.starts_with(column.prefix)) {
          origin().fail_format(fmt::format("entry {} of {} is damaged or was not written",
                                           first + static_cast<std::int64_t>(done + k),
                                           shown(name)));
        }
        std::memcpy(out + (done + k) * column.value_bytes, page.data() + column.prefix.size(),
                    column.value_bytes);
      }
    });
    return values;
  }

  void finish() override {
    for (std::uint64_t group = 0; group < n_groups(); ++group) {
      for (const Column& column : columns_) {
        if (!column.is_array()) file_.write(column.start_of(rows_in(group)), start(group, column));
      }
    }
    const std::string metadata = footer();
    const std::string tail =
        metadata + little_endian(static_cast<std::uint32_t>(metadata.size())) + std::string(kMagic);
    file_.write(tail, end());
    file_.resize(end() + tail.size());
    file_.finish();
  }

 private:
  std::string operation_;
  ArrayLayout layout_;
  std::vector<Column> columns_;
  RandomAccessFile file_;

  Origin origin() const { return {operation_, file_.path().string()}; }
  std::uint64_t n_entries() const { return static_cast<std::uint64_t>(layout_.n_entries); }
  std::uint64_t rows_per_group() const { return static_cast<std::uint64_t>(layout_.chunk); }
  std::uint64_t n_groups() const { return (n_entries() + rows_per_group() - 1) / rows_per_group(); }
  std::uint64_t rows_in(std::uint64_t group) const {
    return std::min(rows_per_group(), n_entries() - group * rows_per_group());
  }
  std::uint64_t group_bytes(std::uint64_t n_rows) const {
    std::uint64_t sum = 0;
    for (const Column& column : columns_) sum += column.chunk_bytes(n_rows);
    return sum;
  }
  // The offset of a column in a row group.
  std::uint64_t start(std::uint64_t group, const Column& of) const {
    std::uint64_t at = kMagic.size() + group * group_bytes(rows_per_group());
    for (const Column& column : columns_) {
      if (&column == &of) break;
      at += column.chunk_bytes(rows_in(group));
    }
    return at;
  }
  // End of the last row group.
  std::uint64_t end() const {
    if (n_groups() == 0) return kMagic.size();
    return kMagic.size() + (n_groups() - 1) * group_bytes(rows_per_group()) +
           group_bytes(rows_in(n_groups() - 1));
  }

  // Calls body(offset, entries before, entries) for each row group's part of the entries.
  template <class Body>
  void visit(const Column& column, std::int64_t first, std::int64_t count, Body&& body) const {
    const auto begin = static_cast<std::uint64_t>(first);
    const auto last = begin + static_cast<std::uint64_t>(count);
    for (std::uint64_t k = begin; k < last;) {
      const std::uint64_t group = k / rows_per_group();
      const std::uint64_t within = k - group * rows_per_group();
      const std::uint64_t n = std::min(last - k, rows_in(group) - within);
      const std::uint64_t header = column.is_array() ? 0 : column.start_of(rows_in(group)).size();
      body(start(group, column) + header + within * column.entry_bytes(), k - begin, n);
      k += n;
    }
  }

  const Column& column_of(std::string_view name, std::int64_t first, std::int64_t count) const {
    const int column = find_column(layout_, name);
    if (column < 0 || first < 0 || count < 0 || first > layout_.n_entries - count) {
      fail(ErrorKind::invalid_argument, operation_,
           fmt::format("entries {} to {} of {}: the file has {}", first, first + count, shown(name),
                       layout_.n_entries));
    }
    return columns_[static_cast<std::size_t>(column)];
  }

  std::string footer() const;
  void write_schema(ThriftWriter& out) const;
  void write_group(ThriftWriter& out, std::uint64_t group) const;
};

void ParquetDump::write_schema(ThriftWriter& out) const {
  const auto group = [&](int repetition, std::string_view name, std::size_t n_children, bool list) {
    out.element_structure([&] {
      if (repetition >= 0) out.i32(3, repetition);
      out.text(4, name);
      out.i32(5, static_cast<std::int64_t>(n_children));
      if (!list) return;
      out.i32(6, kList);
      out.structure(10, [&] { out.structure(kList, [] {}); });
    });
  };
  std::uint64_t n_elements = 1;
  for (const Column& column : columns_) n_elements += 1 + 2 * column.what.entry.size();
  out.list(2, ThriftType::structure, n_elements, [&] {
    group(-1, "schema", columns_.size(), false);
    for (const Column& column : columns_) {
      std::string_view name = column.what.name;
      for (int depth = 0; depth < column.what.entry.size(); ++depth) {
        group(kRequired, name, 1, true);
        group(kRepeated, "list", 1, false);
        name = "element";
      }
      out.element_structure([&] {
        out.i32(1, static_cast<int>(physical_of(column.what.dtype)));
        out.i32(3, kRequired);
        out.text(4, name);
      });
    }
  });
}

void ParquetDump::write_group(ThriftWriter& out, std::uint64_t group) const {
  const std::uint64_t n_rows = rows_in(group);
  const auto chunk = [&](const Column& column) {
    const auto at = static_cast<std::int64_t>(start(group, column));
    const auto n_bytes = static_cast<std::int64_t>(column.chunk_bytes(n_rows));
    const std::size_t depth = column.what.entry.size();
    out.i64(2, at);
    out.structure(3, [&] {
      out.i32(1, static_cast<int>(physical_of(column.what.dtype)));
      out.list(2, ThriftType::i32, 2, [&] {
        out.element_integer(static_cast<int>(parquet::Encoding::plain));
        out.element_integer(static_cast<int>(parquet::Encoding::rle));
      });
      out.list(3, ThriftType::binary, 1 + 2 * depth, [&] {
        out.element_text(column.what.name);
        for (std::size_t i = 0; i < depth; ++i) {
          out.element_text("list");
          out.element_text("element");
        }
      });
      out.i32(4, static_cast<int>(parquet::Codec::none));
      out.i64(5, static_cast<std::int64_t>(n_rows * column.values_per_entry));
      out.i64(6, n_bytes);
      out.i64(7, n_bytes);
      out.i64(9, at);
    });
  };
  out.list(1, ThriftType::structure, columns_.size(), [&] {
    for (const Column& column : columns_) out.element_structure([&] { chunk(column); });
  });
  out.i64(2, static_cast<std::int64_t>(group_bytes(n_rows)));
  out.i64(3, static_cast<std::int64_t>(n_rows));
}

std::string ParquetDump::footer() const {
  ThriftWriter out;
  out.i32(1, 1);
  write_schema(out);
  out.i64(3, layout_.n_entries);
  out.list(4, ThriftType::structure, n_groups(), [&] {
    for (std::uint64_t group = 0; group < n_groups(); ++group) {
      out.element_structure([&] { write_group(out, group); });
    }
  });
  out.list(5, ThriftType::structure, layout_.constants.size(), [&] {
    for (const ArrayConstant& constant : layout_.constants) {
      out.element_structure([&] {
        out.text(1, constant.name);
        out.text(2, constant.text.empty() ? std::to_string(constant.number) : constant.text);
      });
    }
  });
  out.text(6, "causeway");
  return out.finish();
}

}  // namespace

std::unique_ptr<ArrayFile> create_parquet(std::string_view operation,
                                          const std::filesystem::path& path,
                                          const ArrayLayout& layout) {
  return std::make_unique<ParquetDump>(operation, path, layout, true);
}

std::unique_ptr<ArrayFile> resume_parquet(std::string_view operation,
                                          const std::filesystem::path& path,
                                          const ArrayLayout& layout) {
  return std::make_unique<ParquetDump>(operation, path, layout, false);
}

}  // namespace causeway::data
