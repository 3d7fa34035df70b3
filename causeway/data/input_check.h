// What every reader of a format needs: who is reading what, so that messages begin alike, and sizes
// counted without overflow.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/error.h"
#include "causeway/core/shape.h"
#include "causeway/core/shown.h"

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace causeway::data {

// Who reads or writes what.
struct Origin {
  std::string operation;  // "load_npy"
  std::string name;       // of the file; empty for memory

  // Throws [load_npy] "x.npy": message.
  [[noreturn]] void fail(ErrorKind kind, std::string_view message,
                         std::source_location where = std::source_location::current()) const;
  [[noreturn]] void fail_format(
      std::string_view message,
      std::source_location where = std::source_location::current()) const {
    fail(ErrorKind::format, message, where);
  }
};

using causeway::shown;

// The bytes a tensor takes; nothing where the sizes, zeros left out, multiply to more than 63 bits
// or one of them is negative. A shape that passes has strides that do not overflow either.
std::optional<std::uint64_t> count_bytes(const Shape& shape, DType dtype);

}  // namespace causeway::data
