// Shared by all readers of formats: uniform error messages, and size arithmetic without overflow.
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

// The operation and file for error messages.
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

// Size of a tensor in bytes; nullopt if a size is negative or the product of the non-zero sizes
// exceeds 63 bits. Strides of an accepted shape do not overflow either.
std::optional<std::uint64_t> count_bytes(const Shape& shape, DType dtype);

}  // namespace causeway::data
