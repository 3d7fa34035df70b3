// Writes structures of Thrift's compact protocol, in which Parquet stores its metadata.
#pragma once

#include "causeway/data/thrift.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway::data {

class ThriftWriter {
 public:
  // Fields of a structure, by ascending id.
  void i32(int id, std::int64_t value) { integer(id, ThriftType::i32, value); }
  void i64(int id, std::int64_t value) { integer(id, ThriftType::i64, value); }
  void text(int id, std::string_view value);
  // `body` writes the fields of a structure.
  template <class Body>
  void structure(int id, Body&& body) {
    field(id, ThriftType::structure);
    element_structure(body);
  }
  // A list of `n` elements, which `body` writes with the functions below.
  template <class Body>
  void list(int id, ThriftType type, std::uint64_t n, Body&& body) {
    field(id, ThriftType::list);
    list_header(type, n);
    body();
  }

  // Elements of a list.
  template <class Body>
  void element_structure(Body&& body) {
    const int outer = last_;
    last_ = 0;
    body();
    bytes_.push_back('\0');  // the end of the structure
    last_ = outer;
  }
  void element_integer(std::int64_t value) { zigzag(value); }
  void element_text(std::string_view value);

  // The bytes of a structure whose fields were written.
  std::string finish() { return bytes_ + '\0'; }

 private:
  void field(int id, ThriftType type);
  void integer(int id, ThriftType type, std::int64_t value);
  void list_header(ThriftType type, std::uint64_t n);
  void varint(std::uint64_t value);
  void zigzag(std::int64_t value);

  std::string bytes_;
  int last_ = 0;  // id of the last field
};

// `value` in groups of seven bits, the lowest first.
std::string varint_bytes(std::uint64_t value);

}  // namespace causeway::data
