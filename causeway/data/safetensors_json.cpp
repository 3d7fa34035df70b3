#include "causeway/data/safetensors_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace causeway::data {

std::string_view safetensors_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i64: return "I64";
    case DType::i32: return "I32";
    case DType::i16: return "I16";
    case DType::i8: return "I8";
    case DType::u8: return "U8";
    case DType::u16: return "U16";
    case DType::boolean: return "BOOL";
  }
  return "";
}

namespace {

enum class Place { outside, top, entry, shape, offsets, metadata };

// nlohmann's SAX interface: its parser is not recursive, and no document object is built, which
// would silently keep the last of two equal keys.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(const Origin& origin) : origin_(origin) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { fail_got("null"); }
  bool boolean(bool value) override { fail_got(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { fail_got(fmt::format("{}", value)); }
  bool number_float(number_float_t, const std::string& text) override {
    fail_got(text.substr(0, 40));
  }
  bool binary(binary_t&) override { fail_got("binary data"); }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(std::string& value) override;
  bool start_object(std::size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override;

 private:
  void set_dtype(const std::string& name);
  void note_field(const std::string& name);
  std::string expected() const;
  // "tensor "wte": ", "metadata: " or nothing.
  std::string subject() const;
  [[noreturn]] void fail_got(std::string_view got) const;

  const Origin& origin_;
  SafetensorsHeader header_;
  Place place_ = Place::outside;
  std::unordered_set<std::string> names_;  // keys of the top level
  std::string name_;                       // the current one
  SafetensorsEntry entry_;
  std::string field_;  // the current key inside the entry or the metadata
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  int n_offsets_ = 0;
};

bool HeaderEvents::number_unsigned(number_unsigned_t value) {
  if (place_ == Place::shape) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail_got(fmt::format("{}", value));
    }
    if (entry_.shape.size() == kMaxDims) {
      origin_.fail_format(
          fmt::format("{}more than {} dimensions are not supported", subject(), kMaxDims));
    }
    entry_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  if (place_ != Place::offsets || n_offsets_ == 2) fail_got(fmt::format("{}", value));
  (n_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
  return true;
}

bool HeaderEvents::string(std::string& value) {
  if (place_ == Place::metadata) {
    header_.metadata[field_] = std::move(value);
  } else if (place_ == Place::entry && field_ == "dtype") {
    set_dtype(value);
  } else {
    fail_got(shown(value));
  }
  return true;
}

bool HeaderEvents::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::top;
  } else if (place_ == Place::top && name_ == kMetadataKey) {
    place_ = Place::metadata;
  } else if (place_ == Place::top) {
    place_ = Place::entry;
    entry_ = {};
    entry_.name = name_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    n_offsets_ = 0;
  } else {
    fail_got("an object");
  }
  return true;
}

bool HeaderEvents::key(std::string& name) {
  if (place_ == Place::top) {
    name_ = name;
    if (!names_.insert(name).second) {
      origin_.fail_format(fmt::format("duplicate key {} in the header", shown(name)));
    }
    return true;
  }
  field_ = name;
  if (place_ == Place::entry) {
    note_field(name);
  } else if (header_.metadata.contains(name)) {
    origin_.fail_format(fmt::format("duplicate key {} in the metadata", shown(name)));
  }
  return true;
}

void HeaderEvents::note_field(const std::string& name) {
  bool* seen = nullptr;
  if (name == "dtype") seen = &has_dtype_;
  if (name == "shape") seen = &has_shape_;
  if (name == "data_offsets") seen = &has_offsets_;
  if (seen == nullptr) {
    origin_.fail_format(fmt::format("{}expected \"dtype\", \"shape\" and \"data_offsets\", got {}",
                                    subject(), shown(name)));
  }
  if (std::exchange(*seen, true)) {
    origin_.fail_format(fmt::format("{}\"{}\" is given twice", subject(), name));
  }
}

bool HeaderEvents::end_object() {
  if (place_ == Place::entry) {
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
      origin_.fail_format(
          fmt::format("{}\"{}\" is missing", subject(),
                      !has_dtype_ ? "dtype" : (!has_shape_ ? "shape" : "data_offsets")));
    }
    header_.entries.push_back(std::move(entry_));
  }
  place_ = place_ == Place::top ? Place::outside : Place::top;
  return true;
}

bool HeaderEvents::start_array(std::size_t) {
  if (place_ == Place::entry && field_ == "shape") {
    place_ = Place::shape;
  } else if (place_ == Place::entry && field_ == "data_offsets") {
    place_ = Place::offsets;
  } else {
    fail_got("a list");
  }
  return true;
}

bool HeaderEvents::end_array() {
  if (place_ == Place::offsets && n_offsets_ != 2) fail_got(fmt::format("{} numbers", n_offsets_));
  place_ = Place::entry;
  return true;
}

bool HeaderEvents::parse_error(std::size_t position, const std::string&,
                               const nlohmann::detail::exception& error) {
  // "[json.exception.parse_error.101] parse error at …: reason; last read: …"
  std::string_view reason = error.what();
  if (const std::size_t at = reason.find("column "); at != std::string_view::npos) {
    reason.remove_prefix(std::min(reason.find(": ", at), reason.size() - 2) + 2);
  }
  reason = reason.substr(0, reason.find("; last read"));
  origin_.fail_format(
      fmt::format("the header is not valid JSON at its byte {}: {}; copy the file "
                  "again",
                  position, shown(reason)));
}

void HeaderEvents::set_dtype(const std::string& name) {
  for (const DType dtype : kAllDTypes) {
    if (safetensors_name(dtype) != name) continue;
    entry_.dtype = dtype;
    return;
  }
  origin_.fail_format(
      fmt::format("{}expected a dtype of F64 F32 F16 BF16 I64 I32 I16 I8 U16 U8 "
                  "BOOL, got {}; convert the tensor to one of them first",
                  subject(), shown(name)));
}

std::string HeaderEvents::expected() const {
  switch (place_) {
    case Place::outside: return "one object";
    case Place::top: return name_ == kMetadataKey ? "an object of strings" : "an object";
    case Place::metadata: return fmt::format("{} to be a string", shown(field_));
    case Place::shape: return "\"shape\" to hold integers from 0 to 2^63 - 1";
    case Place::offsets: return "\"data_offsets\" to hold two integers";
    case Place::entry: break;
  }
  if (field_ == "dtype") return "\"dtype\" to be a string";
  return fmt::format("{} to be a list of integers", shown(field_));
}

std::string HeaderEvents::subject() const {
  if (place_ == Place::outside) return "";
  if (name_ == kMetadataKey) return "metadata: ";
  return fmt::format("tensor {}: ", shown(name_));
}

void HeaderEvents::fail_got(std::string_view got) const {
  origin_.fail_format(fmt::format("{}expected {}, got {}", subject(), expected(), got));
}

}  // namespace

SafetensorsHeader parse_safetensors_json(const Origin& origin, std::string_view json) {
  HeaderEvents events(origin);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return events.take();
}

}  // namespace causeway::data
