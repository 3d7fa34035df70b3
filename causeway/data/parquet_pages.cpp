#include "causeway/data/parquet_pages.h"

#include "causeway/data/decompress.h"
#include "causeway/data/snappy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace causeway::data::parquet {

namespace {

constexpr const char* kCodecs[] = {"none",   "Snappy", "gzip",      "LZO",
                                   "Brotli", "LZ4",    "Zstandard", "LZ4 raw"};

// Bytes of a page, taken from the front.
class Bytes {
 public:
  Bytes(std::string_view rest, const Origin& origin) : rest_(rest), origin_(origin) {}

  bool empty() const { return rest_.empty(); }
  std::string_view take(std::size_t n) {
    if (n > rest_.size()) origin_.fail_format("a page is truncated");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::uint64_t variable() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto next = number<std::uint8_t>();
      value |= std::uint64_t{next & 0x7fU} << shift;
      if (next < 0x80) return value;
    }
    origin_.fail_format("a page is damaged");
  }

 private:
  std::string_view rest_;
  const Origin& origin_;
};

// `n` integers of `width` bits: runs of one value, and groups of eight packed ones.
std::vector<std::uint32_t> read_hybrid(Bytes& bytes, unsigned width, std::size_t n,
                                       const Origin& origin) {
  if (width > 32) origin.fail_format("a page is damaged");
  std::vector<std::uint32_t> values;
  values.reserve(n);
  while (values.size() < n) {
    const std::uint64_t head = bytes.variable();
    if ((head & 1) == 0) {
      std::uint32_t value = 0;
      unsigned shift = 0;
      for (const char c : bytes.take((width + 7) / 8)) {
        value |= std::uint32_t{static_cast<std::uint8_t>(c)} << shift;
        shift += 8;
      }
      const std::uint64_t count = std::min<std::uint64_t>(head >> 1, n - values.size());
      if (count == 0) origin.fail_format("a page is damaged");
      values.insert(values.end(), count, value);
      continue;
    }
    std::uint64_t buffer = 0;
    unsigned n_bits = 0;
    for (std::uint64_t group = head >> 1; group > 0 && values.size() < n; --group) {
      const std::string_view packed = bytes.take(width);
      std::size_t at = 0;
      for (int i = 0; i < 8; ++i) {
        while (n_bits < width) {
          buffer |= std::uint64_t{static_cast<std::uint8_t>(packed[at++])} << n_bits;
          n_bits += 8;
        }
        const auto value = static_cast<std::uint32_t>(buffer & ((std::uint64_t{1} << width) - 1));
        buffer >>= width;
        n_bits -= width;
        if (values.size() < n) values.push_back(value);
      }
    }
    if (head >> 1 == 0) origin.fail_format("a page is damaged");
  }
  return values;
}

// A timestamp of 12 bytes: nanoseconds of the day and the Julian day.
std::int64_t read_int96(Bytes& bytes) {
  constexpr std::int64_t kDayOf1970 = 2440588;
  constexpr std::int64_t kNanosecondsPerDay = 86400000000000;
  const auto nanoseconds = bytes.number<std::int64_t>();
  const auto day = bytes.number<std::int32_t>();
  return (day - kDayOf1970) * kNanosecondsPerDay + nanoseconds;
}

void read_plain(Bytes& bytes, Physical type, bool is_unsigned, std::size_t n, const Origin& origin,
                Values& values) {
  for (std::size_t i = 0; i < n; ++i) {
    switch (type) {
      case Physical::int32:
        values.integers.push_back(is_unsigned ? std::int64_t{bytes.number<std::uint32_t>()}
                                              : std::int64_t{bytes.number<std::int32_t>()});
        break;
      case Physical::int64: values.integers.push_back(bytes.number<std::int64_t>()); break;
      case Physical::int96: values.integers.push_back(read_int96(bytes)); break;
      case Physical::float32: values.reals.push_back(bytes.number<float>()); break;
      case Physical::float64: values.reals.push_back(bytes.number<double>()); break;
      case Physical::bytes:
        values.bytes += bytes.take(bytes.number<std::uint32_t>());
        values.offsets.push_back(static_cast<std::int64_t>(values.bytes.size()));
        break;
      case Physical::boolean:
      case Physical::fixed_bytes: origin.fail_format("a page has an unexpected type");
    }
  }
}

void read_plain_booleans(Bytes& bytes, std::size_t n, Values& values) {
  const std::string_view packed = bytes.take((n + 7) / 8);
  for (std::size_t i = 0; i < n; ++i) {
    values.integers.push_back((static_cast<std::uint8_t>(packed[i / 8]) >> (i % 8)) & 1);
  }
}

class ChunkReader {
 public:
  ChunkReader(const Chunk& chunk, const SchemaColumn& column, const Origin& origin, Values& values)
      : chunk_(chunk), column_(column), origin_(origin), values_(values) {}

  void run() {
    std::string_view pages = chunk_.pages;
    std::int64_t left = chunk_.n_values;
    while (left > 0) {
      const PageHeader header = read_page_header(pages, origin_);
      const std::string_view body = pages.substr(0, static_cast<std::size_t>(header.size));
      pages.remove_prefix(body.size());
      if (header.type == PageType::dictionary) {
        read_dictionary(header, body);
      } else if (header.type != PageType::index) {
        if (header.n_values > left) origin_.fail_format("a column has too many values");
        read_data(header, body);
        left -= header.n_values;
      }
    }
  }

 private:
  std::string content(const PageHeader& header, std::string_view body) const {
    const auto size = static_cast<std::size_t>(header.decompressed_size - header.levels_size);
    std::string bytes;
    if (!header.is_compressed || chunk_.codec == Codec::none) {
      bytes = std::string(body);
    } else if (chunk_.codec == Codec::snappy) {
      return decompress_snappy(body, size, origin_);
    } else if (chunk_.codec == Codec::gzip || chunk_.codec == Codec::zstd) {
      bytes = decompress(body, origin_.name).value_or("");
    } else {
      origin_.fail_format(
          fmt::format("column {} is compressed with {}; expected Snappy, gzip, Zstandard or none",
                      shown(column_.name), kCodecs[static_cast<int>(chunk_.codec)]));
    }
    if (bytes.size() != size) origin_.fail_format("a page has another size than its header says");
    return bytes;
  }

  void read_dictionary(const PageHeader& header, std::string_view body) {
    const std::string text = content(header, body);
    Bytes bytes(text, origin_);
    dictionary_ = Values();
    n_entries_ = static_cast<std::size_t>(header.n_values);
    // Every entry has bytes, so that a damaged number ends the page.
    read_plain(bytes, column_.physical, is_unsigned(), n_entries_, origin_, dictionary_);
  }

  bool is_unsigned() const { return column_.meaning == Meaning::unsigned_integer; }

  void read_data(const PageHeader& header, std::string_view body) {
    const bool is_v2 = header.type == PageType::data_v2;
    const auto n = static_cast<std::size_t>(header.n_values);
    const auto levels_size = static_cast<std::size_t>(header.levels_size);
    const std::string text = content(header, body.substr(levels_size));
    Bytes bytes(text, origin_);
    std::vector<std::uint32_t> levels(n, 1);  // 1 where there is a value
    if (column_.optional) {
      Bytes of_levels(
          is_v2 ? body.substr(0, levels_size) : bytes.take(bytes.number<std::uint32_t>()), origin_);
      levels = read_hybrid(of_levels, 1, n, origin_);
    }
    const auto n_present =
        static_cast<std::size_t>(std::count(levels.begin(), levels.end(), std::uint32_t{1}));
    const Values found = read_values(bytes, header.encoding, n_present);
    std::size_t at = 0;
    for (const std::uint32_t level : levels) {
      level == 1 ? values_.append(found, at++, column_.physical)
                 : values_.append_missing(column_.physical);
    }
  }

  Values read_values(Bytes& bytes, int encoding, std::size_t n) {
    Values found;
    if (n == 0) return found;
    const bool is_boolean = column_.physical == Physical::boolean;
    switch (static_cast<Encoding>(encoding)) {
      case Encoding::plain:
        if (is_boolean) {
          read_plain_booleans(bytes, n, found);
        } else {
          read_plain(bytes, column_.physical, is_unsigned(), n, origin_, found);
        }
        return found;
      case Encoding::plain_dictionary:
      case Encoding::rle_dictionary:
        for (const std::uint32_t at :
             read_hybrid(bytes, bytes.number<std::uint8_t>(), n, origin_)) {
          if (at >= n_entries_) origin_.fail_format("a page is damaged: no such dictionary entry");
          found.append(dictionary_, at, column_.physical);
        }
        return found;
      case Encoding::rle:
        if (!is_boolean) break;
        bytes.take(4);  // the size of what follows
        for (const std::uint32_t value : read_hybrid(bytes, 1, n, origin_)) {
          found.integers.push_back(value);
        }
        return found;
    }
    origin_.fail_format(
        fmt::format("column {} has encoding {}; expected plain or dictionary encoding",
                    shown(column_.name), encoding));
  }

  const Chunk& chunk_;
  const SchemaColumn& column_;
  const Origin& origin_;
  Values& values_;
  Values dictionary_;
  std::size_t n_entries_ = 0;
};

}  // namespace

void Values::append(const Values& from, std::size_t at, Physical type) {
  present.push_back(true);
  if (type == Physical::bytes) {
    const auto begin = static_cast<std::size_t>(from.offsets[at]);
    bytes.append(from.bytes, begin, static_cast<std::size_t>(from.offsets[at + 1]) - begin);
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  } else if (type == Physical::float32 || type == Physical::float64) {
    reals.push_back(from.reals[at]);
  } else {
    integers.push_back(from.integers[at]);
  }
}

void Values::append_missing(Physical type) {
  present.push_back(false);
  if (type == Physical::bytes) {
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  } else if (type == Physical::float32 || type == Physical::float64) {
    reals.push_back(0);
  } else {
    integers.push_back(0);
  }
}

void read_chunk(const Chunk& chunk, const SchemaColumn& column, const Origin& origin,
                Values& values) {
  ChunkReader(chunk, column, origin, values).run();
}

}  // namespace causeway::data::parquet
