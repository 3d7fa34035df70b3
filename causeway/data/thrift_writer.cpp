#include "causeway/data/thrift_writer.h"

#include <algorithm>

namespace causeway::data {

std::string varint_bytes(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

void ThriftWriter::varint(std::uint64_t value) { bytes_ += varint_bytes(value); }

void ThriftWriter::zigzag(std::int64_t value) {
  varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

// Ids that ascend by 1 to 15 fit into the byte of the type.
void ThriftWriter::field(int id, ThriftType type) {
  bytes_.push_back(static_cast<char>(((id - last_) << 4) | static_cast<int>(type)));
  last_ = id;
}

void ThriftWriter::integer(int id, ThriftType type, std::int64_t value) {
  field(id, type);
  zigzag(value);
}

void ThriftWriter::text(int id, std::string_view value) {
  field(id, ThriftType::binary);
  element_text(value);
}

void ThriftWriter::element_text(std::string_view value) {
  varint(value.size());
  bytes_ += value;
}

void ThriftWriter::list_header(ThriftType type, std::uint64_t n) {
  constexpr std::uint64_t kLong = 15;
  bytes_.push_back(static_cast<char>((std::min(n, kLong) << 4) | static_cast<std::uint64_t>(type)));
  if (n >= kLong) varint(n);
}

}  // namespace causeway::data
