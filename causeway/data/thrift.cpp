#include "causeway/data/thrift.h"

namespace causeway::data {

namespace {

constexpr int kDeepest = 32;  // structures within structures

ThriftType type_of(const Origin& origin, unsigned code) {
  if (code > static_cast<unsigned>(ThriftType::structure)) {
    origin.fail_format("the metadata is damaged: an unknown type");
  }
  return static_cast<ThriftType>(code);
}

}  // namespace

std::string_view ThriftReader::take(std::uint64_t n) {
  if (n > bytes_.size() - position_) origin_.fail_format("the metadata is truncated");
  const std::string_view taken = bytes_.substr(position_, n);
  position_ += n;
  return taken;
}

std::uint8_t ThriftReader::byte() { return static_cast<std::uint8_t>(take(1)[0]); }

std::uint64_t ThriftReader::unsigned_integer() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    value |= std::uint64_t{next & 0x7fU} << shift;
    if (next < 0x80) return value;
  }
  origin_.fail_format("the metadata is damaged: an integer of more than 64 bits");
}

std::int64_t ThriftReader::integer() {
  const std::uint64_t zigzag = unsigned_integer();
  return static_cast<std::int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
}

std::string_view ThriftReader::text() { return take(unsigned_integer()); }

ThriftType ThriftReader::next_field(int& id) {
  const unsigned head = byte();
  const ThriftType type = type_of(origin_, head & 0x0fU);
  if (type == ThriftType::stop) return type;
  id = head >> 4 != 0 ? id + static_cast<int>(head >> 4) : static_cast<int>(integer());
  return type;
}

std::uint64_t ThriftReader::list_header(ThriftType& type) {
  const unsigned head = byte();
  type = type_of(origin_, head & 0x0fU);
  const std::uint64_t n = head >> 4 == 15 ? unsigned_integer() : head >> 4;
  // Every element has a byte at least.
  if (n > bytes_.size() - position_) origin_.fail_format("the metadata is truncated");
  return n;
}

std::int64_t ThriftReader::list_of_structures() {
  ThriftType type = ThriftType::stop;
  const std::uint64_t n = list_header(type);
  if (n > 0 && type != ThriftType::structure) {
    origin_.fail_format("the metadata is damaged: a list of another type");
  }
  return static_cast<std::int64_t>(n);
}

void ThriftReader::skip(ThriftType type, int depth) {
  if (depth > kDeepest) origin_.fail_format("the metadata is damaged: too deep");
  switch (type) {
    case ThriftType::stop:
    case ThriftType::yes:
    case ThriftType::no: return;
    case ThriftType::byte: take(1); return;
    case ThriftType::i16:
    case ThriftType::i32:
    case ThriftType::i64: unsigned_integer(); return;
    case ThriftType::number: take(8); return;
    case ThriftType::binary: text(); return;
    case ThriftType::list:
    case ThriftType::set: {
      ThriftType inner = ThriftType::stop;
      const std::uint64_t n = list_header(inner);
      // In a list, a boolean has a byte of its own.
      const bool is_boolean = inner == ThriftType::yes || inner == ThriftType::no;
      for (std::uint64_t i = 0; i < n; ++i) {
        skip(is_boolean ? ThriftType::byte : inner, depth + 1);
      }
      return;
    }
    case ThriftType::map: origin_.fail_format("the metadata is damaged: an unexpected map");
    case ThriftType::structure: {
      int id = 0;
      for (ThriftType next = next_field(id); next != ThriftType::stop; next = next_field(id)) {
        skip(next, depth + 1);
      }
      return;
    }
  }
}

}  // namespace causeway::data
