#include "causeway/tables/arrow_column.h"

#include "causeway/core/error.h"
#include "causeway/runtime/transfer.h"
#include "causeway/tables/cells.h"
#include "causeway/tensor/dtype_of.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace causeway::tables {

namespace {

bool bit(const void* bits, std::int64_t at) {
  return (static_cast<const std::uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

const std::uint8_t* buffer(const ArrowArray& part, std::int64_t at) {
  return static_cast<const std::uint8_t*>(part.n_buffers > at ? part.buffers[at] : nullptr);
}

}  // namespace

void refuse_arrow(const std::string& message) {
  fail(ErrorKind::invalid_argument, "arrow", message);
}

TableColumn ArrowColumnReader::read() {
  column_.name = schema_.name == nullptr ? "" : schema_.name;
  if (schema_.dictionary != nullptr) {
    read_dictionary();
  } else {
    read_plain(schema_.format);
  }
  read_missing();
  return std::move(column_);
}

void ArrowColumnReader::require_host(const std::string& format) const {
  if (!device_.is_cuda()) return;
  refuse_arrow("column \"" + column_.name + "\" of Arrow type \"" + format +
               "\" is on a GPU; only numbers are read there, move it to the CPU");
}

template <class T>
void ArrowColumnReader::read_numbers() {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (parts_.size() == 1 && n_rows_ > 0) {
    const ArrowArray& part = *parts_[0];
    void* data = const_cast<std::uint8_t*>(buffer(part, 1)) + part.offset * kSize;
    column_.numbers =
        Tensor::wrap(data, {n_rows_}, {1}, dtype_of<T>(), device_, owner_, /*read_only=*/true);
    return;
  }
  column_.numbers = Tensor::empty({n_rows_}, dtype_of<T>(), device_);
  std::byte* to = column_.numbers.data();
  for (const ArrowArray* part : parts_) {
    const auto bytes = static_cast<std::size_t>(part->length * kSize);
    if (bytes == 0) continue;
    transfer(to, device_, buffer(*part, 1) + part->offset * kSize, device_, bytes,
             current_stream(device_));
    to += bytes;
  }
}

// Types without a counterpart here, as i64.
template <class From>
void ArrowColumnReader::read_converted(std::int64_t factor) {
  require_host(schema_.format);
  column_.numbers = Tensor::empty({n_rows_}, DType::i64);
  auto* to = column_.numbers.data_as<std::int64_t>();
  for (const ArrowArray* part : parts_) {
    const auto* from = reinterpret_cast<const From*>(buffer(*part, 1)) + part->offset;
    for (std::int64_t i = 0; i < part->length; ++i) {
      if (sizeof(From) == 8 && static_cast<std::uint64_t>(from[i]) >> 63 != 0) {
        refuse_arrow("column \"" + column_.name +
                     "\" holds numbers above 2^63; cast it to float64");
      }
      *to++ = static_cast<std::int64_t>(from[i]) * factor;
    }
  }
}

void ArrowColumnReader::read_bools() {
  require_host("b");
  column_.numbers = Tensor::empty({n_rows_}, DType::boolean);
  auto* to = column_.numbers.data_as<bool>();
  for (const ArrowArray* part : parts_) {
    for (std::int64_t i = 0; i < part->length; ++i) *to++ = bit(buffer(*part, 1), part->offset + i);
  }
}

void ArrowColumnReader::set_text(std::string bytes, std::vector<std::int64_t> offsets) {
  column_.type = ValueType::text;
  column_.text = Text::from(std::move(bytes), std::move(offsets));
}

template <class Offset>
void ArrowColumnReader::read_text() {
  require_host("u");
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  for (const ArrowArray* part : parts_) {
    if (part->length == 0) continue;
    const auto* from = reinterpret_cast<const Offset*>(buffer(*part, 1)) + part->offset;
    const auto shift = static_cast<std::int64_t>(bytes.size()) - static_cast<std::int64_t>(from[0]);
    bytes.append(reinterpret_cast<const char*>(buffer(*part, 2)) + from[0],
                 static_cast<std::size_t>(from[part->length] - from[0]));
    for (std::int64_t i = 1; i <= part->length; ++i) {
      offsets.push_back(static_cast<std::int64_t>(from[i]) + shift);
    }
  }
  set_text(std::move(bytes), std::move(offsets));
}

// Short strings lie in their view, longer ones in one of the data buffers.
void ArrowColumnReader::read_views() {
  require_host("vu");
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  for (const ArrowArray* part : parts_) {
    for (std::int64_t i = 0; i < part->length; ++i) {
      const std::uint8_t* view = buffer(*part, 1) + (part->offset + i) * 16;
      std::int32_t length, number, at;
      std::memcpy(&length, view, 4);
      if (length <= 12) {
        bytes.append(reinterpret_cast<const char*>(view + 4), static_cast<std::size_t>(length));
      } else {
        std::memcpy(&number, view + 8, 4);
        std::memcpy(&at, view + 12, 4);
        bytes.append(reinterpret_cast<const char*>(buffer(*part, 2 + number)) + at,
                     static_cast<std::size_t>(length));
      }
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
  }
  set_text(std::move(bytes), std::move(offsets));
}

void ArrowColumnReader::read_plain(const std::string& format) {
  const auto timed = [&](std::int64_t units) {
    column_.type = ValueType::time;
    column_.units_per_second = units;
  };
  if (format == "f") return read_numbers<float>();
  if (format == "g") return read_numbers<double>();
  if (format == "e") return read_numbers<f16>();
  if (format == "c") return read_numbers<std::int8_t>();
  if (format == "C") return read_numbers<std::uint8_t>();
  if (format == "s") return read_numbers<std::int16_t>();
  if (format == "S") return read_numbers<std::uint16_t>();
  if (format == "i") return read_numbers<std::int32_t>();
  if (format == "I") return read_converted<std::uint32_t>(1);
  if (format == "l") return read_numbers<std::int64_t>();
  if (format == "L") return read_converted<std::uint64_t>(1);
  if (format == "b") return read_bools();
  if (format == "u") return read_text<std::int32_t>();
  if (format == "U") return read_text<std::int64_t>();
  if (format == "vu") return read_views();
  if (format == "tdD") {
    timed(1);
    return read_converted<std::int32_t>(86400);
  }
  if (format == "tdm") timed(1000);
  if (format.starts_with("tss")) timed(1);
  if (format.starts_with("tsm")) timed(1000);
  if (format.starts_with("tsu")) timed(1000000);
  if (format.starts_with("tsn")) timed(1000000000);
  if (column_.type == ValueType::time) return read_numbers<std::int64_t>();
  if (format == "n") {
    column_.numbers = Tensor::empty({n_rows_}, DType::f32);
    std::fill_n(column_.numbers.data_as<float>(), n_rows_, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  refuse_arrow("column \"" + column_.name + "\" has Arrow type \"" + format +
               "\", which is neither number, text, boolean nor time; cast it first");
}

// The names of all chunks' dictionaries, each once, and codes into them.
void ArrowColumnReader::read_dictionary() {
  require_host("dictionary");
  std::map<std::string, std::int64_t, std::less<>> codes;
  std::vector<std::string> names;
  column_.type = ValueType::category;
  constexpr std::int64_t kOrdered = 1;  // ARROW_FLAG_DICTIONARY_ORDERED
  column_.ordered = (schema_.flags & kOrdered) != 0;
  column_.numbers = Tensor::empty({n_rows_}, DType::i64);
  auto* to = column_.numbers.data_as<std::int64_t>();
  for (const ArrowArray* part : parts_) {
    ArrowColumnReader values(*schema_.dictionary, {part->dictionary}, owner_, device_);
    const TableColumn words = values.read();
    const Cells cells(words, part->dictionary->length);
    std::vector<std::int64_t> code_of;
    for (std::int64_t i = 0; i < part->dictionary->length; ++i) {
      const std::string name = cells.is_missing(i) ? std::string() : cells.shown_value(i);
      const auto [at, is_new] = codes.emplace(name, static_cast<std::int64_t>(names.size()));
      if (is_new) names.push_back(name);
      code_of.push_back(cells.is_missing(i) ? -1 : at->second);
    }
    ArrowColumnReader indices(schema_, {part}, owner_, device_);
    indices.read_plain(schema_.format);
    for (const std::int64_t index :
         indices.column_.numbers.to(DType::i64).to_vector<std::int64_t>()) {
      const bool is_there = index >= 0 && index < part->dictionary->length;
      *to++ = is_there ? code_of[static_cast<std::size_t>(index)] : -1;
    }
  }
  column_.n_categories = static_cast<std::int64_t>(names.size());
  column_.categories = Text::from(names);
}

void ArrowColumnReader::read_missing() {
  const auto has_bits = [&](const ArrowArray* part) {
    return part->length > 0 && part->null_count != 0 && buffer(*part, 0) != nullptr;
  };
  if (std::string_view(schema_.format) == "n") return;
  if (std::none_of(parts_.begin(), parts_.end(), has_bits)) return;
  const Tensor marks = Tensor::empty({n_rows_}, DType::boolean);
  auto* to = marks.data_as<bool>();
  for (const ArrowArray* part : parts_) {
    std::vector<std::uint8_t> copy;
    const std::uint8_t* bits = buffer(*part, 0);
    if (has_bits(part) && device_.is_cuda()) {
      copy.resize(static_cast<std::size_t>((part->offset + part->length + 7) / 8));
      transfer(copy.data(), Device::cpu(), bits, device_, copy.size(), current_stream(device_));
      bits = copy.data();
    }
    for (std::int64_t i = 0; i < part->length; ++i) {
      *to++ = has_bits(part) && !bit(bits, part->offset + i);
    }
  }
  column_.missing = marks.to(column_.type == ValueType::text ? Device::cpu() : device_);
}

}  // namespace causeway::tables
