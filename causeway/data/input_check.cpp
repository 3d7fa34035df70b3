#include "causeway/data/input_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::data {

void Origin::fail(ErrorKind kind, std::string_view message, std::source_location where) const {
  const std::string text =
      name.empty() ? std::string(message) : fmt::format("\"{}\": {}", name, message);
  causeway::fail(kind, operation, text, where);
}

std::optional<std::uint64_t> count_bytes(const Shape& shape, DType dtype) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

}  // namespace causeway::data
