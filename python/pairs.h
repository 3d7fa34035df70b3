// Two sizes for the two axes of an image: one integer for both, or a sequence of two.
#pragma once

#include "python/casters.h"

#include <array>

namespace causeway::python {

struct Pair {
  std::array<std::int64_t, 2> value{1, 1};
};

// False if `source` is neither.
inline bool read_pair(nb::handle source, Pair& pair) {
  Dims dims;
  if (!read_dims(source, dims)) return false;
  if (dims.size() < 1 || dims.size() > 2) return false;
  pair.value = {dims[0], dims[dims.size() - 1]};
  return true;
}

}  // namespace causeway::python

namespace nanobind::detail {

template <>
struct type_caster<causeway::python::Pair> {
  NB_TYPE_CASTER(causeway::python::Pair, const_name("int | tuple[int, int]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    return causeway::python::read_pair(source, value);
  }
  static handle from_cpp(const causeway::python::Pair& pair, rv_policy, cleanup_list*) noexcept {
    return make_tuple(pair.value[0], pair.value[1]).release();
  }
};

}  // namespace nanobind::detail
