// Reads structures of Thrift's compact protocol, in which Parquet stores its metadata.
#pragma once

#include "causeway/data/input_check.h"

#include <cstdint>
#include <string_view>

namespace causeway::data {

enum class ThriftType : std::uint8_t {
  stop = 0,
  yes = 1,  // booleans have their value in the type
  no = 2,
  byte = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  number = 7,  // 8 bytes
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
};

class ThriftReader {
 public:
  // Both must outlive this. Every function throws a format error for damaged data.
  ThriftReader(std::string_view bytes, const Origin& origin) : bytes_(bytes), origin_(origin) {}

  std::size_t position() const { return position_; }  // bytes read so far

  // Calls field(id, type) for every field of a structure. It returns whether it has read the value,
  // which is skipped otherwise.
  template <class Field>
  void structure(Field&& field) {
    int id = 0;
    for (ThriftType type = next_field(id); type != ThriftType::stop; type = next_field(id)) {
      if (!field(id, type)) skip(type);
    }
  }
  // Calls element() for every element of a list of structures.
  template <class Element>
  void list(Element&& element) {
    for (std::int64_t n = list_of_structures(); n > 0; --n) element();
  }
  std::int64_t integer();  // i16, i32, i64
  std::string_view text();
  void skip(ThriftType type, int depth = 0);

 private:
  std::uint8_t byte();
  std::uint64_t unsigned_integer();
  std::string_view take(std::uint64_t n);
  ThriftType next_field(int& id);
  std::int64_t list_of_structures();
  std::uint64_t list_header(ThriftType& type);

  std::string_view bytes_;
  const Origin& origin_;
  std::size_t position_ = 0;
};

}  // namespace causeway::data
