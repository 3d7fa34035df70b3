#include "python/arrow_import.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/transfer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace causeway::python {

namespace {

using tokenizer::Table;
using tokenizer::TableColumn;
using tokenizer::Text;
using tokenizer::ValueType;

// The structures of the Arrow C data, stream and device interfaces.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

struct ArrowDeviceArray {
  ArrowArray array;
  std::int64_t device_id;
  std::int32_t device_type;  // 1 CPU, 2 CUDA, 3 pinned host memory
  void* sync_event;          // a cudaEvent_t*, or null
  std::int64_t reserved[3];
};

// A moved-out structure; releases it at the end.
template <class T>
struct Owned {
  T value{};
  Owned() = default;
  explicit Owned(T* from) : value(*from) { from->release = nullptr; }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value.release != nullptr) value.release(&value);
  }
};
using Chunk = std::shared_ptr<Owned<ArrowArray>>;

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "tokenizer", message);
}

template <class T>
T* open(nb::handle capsule, const char* name) {
  auto* pointer = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (pointer == nullptr) nb::raise_python_error();
  if (pointer->release == nullptr) refuse("the Arrow data was taken already");
  return pointer;
}

bool bit(const void* bits, std::int64_t at) {
  return (static_cast<const std::uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

// One column in all its chunks, on one device.
class ColumnReader {
 public:
  ColumnReader(const ArrowSchema& schema, std::vector<const ArrowArray*> parts,
               std::shared_ptr<void> owner, Device device)
      : schema_(schema), parts_(std::move(parts)), owner_(std::move(owner)), device_(device) {
    for (const ArrowArray* part : parts_) n_rows_ += part->length;
  }

  TableColumn read() {
    column_.name = schema_.name == nullptr ? "" : schema_.name;
    if (schema_.dictionary != nullptr) {
      read_dictionary();
    } else {
      read_plain(schema_.format);
    }
    read_missing();
    return std::move(column_);
  }

 private:
  void read_plain(const std::string& format);
  void read_dictionary();
  void read_missing();
  void read_bools();
  void read_views();
  template <class Offset>
  void read_text();
  template <class T>
  void read_numbers();
  template <class From>
  void read_converted(std::int64_t factor);
  void set_text(std::string bytes, std::vector<std::int64_t> offsets);

  void require_host(const std::string& format) const {
    if (device_.is_cuda()) {
      refuse("column \"" + column_.name + "\" of Arrow type \"" + format +
             "\" is on a GPU; only numbers are read there, move it to the CPU");
    }
  }
  const std::uint8_t* buffer(const ArrowArray& part, std::int64_t at) const {
    return static_cast<const std::uint8_t*>(part.n_buffers > at ? part.buffers[at] : nullptr);
  }

  const ArrowSchema& schema_;
  std::vector<const ArrowArray*> parts_;
  std::shared_ptr<void> owner_;
  Device device_;
  std::int64_t n_rows_ = 0;
  TableColumn column_;
};

template <class T>
void ColumnReader::read_numbers() {
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
void ColumnReader::read_converted(std::int64_t factor) {
  require_host(schema_.format);
  column_.numbers = Tensor::empty({n_rows_}, DType::i64);
  auto* to = column_.numbers.data_as<std::int64_t>();
  for (const ArrowArray* part : parts_) {
    const auto* from = reinterpret_cast<const From*>(buffer(*part, 1)) + part->offset;
    for (std::int64_t i = 0; i < part->length; ++i) {
      if (sizeof(From) == 8 && static_cast<std::uint64_t>(from[i]) >> 63 != 0) {
        refuse("column \"" + column_.name + "\" holds numbers above 2^63; cast it to float64");
      }
      *to++ = static_cast<std::int64_t>(from[i]) * factor;
    }
  }
}

void ColumnReader::read_bools() {
  require_host("b");
  column_.numbers = Tensor::empty({n_rows_}, DType::boolean);
  auto* to = column_.numbers.data_as<bool>();
  for (const ArrowArray* part : parts_) {
    for (std::int64_t i = 0; i < part->length; ++i) *to++ = bit(buffer(*part, 1), part->offset + i);
  }
}

void ColumnReader::set_text(std::string bytes, std::vector<std::int64_t> offsets) {
  struct Held {
    std::string bytes;
    std::vector<std::int64_t> offsets;
  };
  const auto held = std::make_shared<Held>(Held{std::move(bytes), std::move(offsets)});
  column_.type = ValueType::text;
  column_.text = Text{held->bytes.data(), held->offsets.data(), held};
}

template <class Offset>
void ColumnReader::read_text() {
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
void ColumnReader::read_views() {
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

void ColumnReader::read_plain(const std::string& format) {
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
  refuse("column \"" + column_.name + "\" has Arrow type \"" + format +
         "\", which is neither number, text, boolean nor time; cast it first");
}

// The dictionary's values, each chunk with its own, spread out as text or numbers.
void ColumnReader::read_dictionary() {
  require_host("dictionary");
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  for (const ArrowArray* part : parts_) {
    ColumnReader values(*schema_.dictionary, {part->dictionary}, owner_, device_);
    const TableColumn words = values.read();
    if (words.type != ValueType::text)
      refuse("column \"" + column_.name + "\" is a dictionary of numbers; decode it first");
    ColumnReader indices(schema_, {part}, owner_, device_);
    indices.read_plain(schema_.format);
    const auto numbers = indices.column_.numbers.to(DType::i64).to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < part->length; ++i) {
      const bool there = part->null_count == 0 || buffer(*part, 0) == nullptr ||
                         bit(buffer(*part, 0), part->offset + i);
      const std::int64_t index = numbers[static_cast<std::size_t>(i)];
      if (there && index >= 0 && index < part->dictionary->length) bytes += words.text.at(index);
      offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
  }
  set_text(std::move(bytes), std::move(offsets));
}

void ColumnReader::read_missing() {
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

Table read_table(const ArrowSchema& schema, const std::vector<Chunk>& chunks, Device device) {
  if (std::string_view(schema.format) != "+s") {
    refuse("expected a table of named columns, got one Arrow array; wrap it in a table");
  }
  std::int64_t n_rows = 0;
  for (const Chunk& chunk : chunks) n_rows += chunk->value.length;
  const auto owner = std::make_shared<std::vector<Chunk>>(chunks);
  std::vector<TableColumn> columns;
  for (std::int64_t c = 0; c < schema.n_children; ++c) {
    std::vector<const ArrowArray*> parts;
    for (const Chunk& chunk : chunks) {
      if (chunk->value.offset != 0)
        refuse("an Arrow table that starts inside its columns; copy it");
      parts.push_back(chunk->value.children[c]);
    }
    columns.push_back(ColumnReader(*schema.children[c], parts, owner, device).read());
  }
  return Table(std::move(columns), n_rows);
}

Table from_stream(nb::handle source) {
  const nb::object capsule = source.attr("__arrow_c_stream__")();
  Owned<ArrowArrayStream> stream(open<ArrowArrayStream>(capsule, "arrow_array_stream"));
  Owned<ArrowSchema> schema;
  const auto check = [&](int status) {
    if (status == 0) return;
    const char* words = stream.value.get_last_error(&stream.value);
    refuse(std::string("the Arrow stream failed: ") +
           (words == nullptr ? "no reason given" : words));
  };
  check(stream.value.get_schema(&stream.value, &schema.value));
  std::vector<Chunk> chunks;
  while (true) {
    auto chunk = std::make_shared<Owned<ArrowArray>>();
    check(stream.value.get_next(&stream.value, &chunk->value));
    if (chunk->value.release == nullptr) break;
    chunks.push_back(std::move(chunk));
  }
  return read_table(schema.value, chunks, Device::cpu());
}

Table from_device_array(nb::handle source) {
  const nb::object pair = source.attr("__arrow_c_device_array__")();
  const Owned<ArrowSchema> schema(open<ArrowSchema>(nb::object(pair[0]), "arrow_schema"));
  const nb::object capsule = pair[1];
  auto* given =
      static_cast<ArrowDeviceArray*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_device_array"));
  if (given == nullptr) nb::raise_python_error();
  constexpr std::int32_t kCuda = 2;
  const bool cuda = given->device_type == kCuda;
  const Device device = cuda ? Device::cuda(static_cast<int>(given->device_id)) : Device::cpu();
  if (cuda && given->sync_event != nullptr) {
    driver::wait(device.index, current_stream(device).handle(),
                 *static_cast<CUevent_st**>(given->sync_event));
  }
  const std::vector<Chunk> chunks{std::make_shared<Owned<ArrowArray>>(&given->array)};
  return read_table(schema.value, chunks, device);
}

Table from_single_array(nb::handle source) {
  const nb::object pair = source.attr("__arrow_c_array__")();
  const Owned<ArrowSchema> schema(open<ArrowSchema>(nb::object(pair[0]), "arrow_schema"));
  const std::vector<Chunk> chunks{
      std::make_shared<Owned<ArrowArray>>(open<ArrowArray>(nb::object(pair[1]), "arrow_array"))};
  return read_table(schema.value, chunks, Device::cpu());
}

}  // namespace

Table table_from_arrow(nb::handle source) {
  if (nb::hasattr(source, "__arrow_c_device_array__") &&
      !nb::hasattr(source, "__arrow_c_stream__")) {
    return from_device_array(source);
  }
  if (nb::hasattr(source, "__arrow_c_stream__")) return from_stream(source);
  if (nb::hasattr(source, "__arrow_c_array__")) return from_single_array(source);
  throw nb::type_error("expected an object with __arrow_c_stream__ or __arrow_c_array__");
}

}  // namespace causeway::python
