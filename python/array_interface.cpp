#include "python/array_interface.h"

#include "causeway/core/error.h"
#include "python/casters.h"

#include <string>
#include <utility>

namespace causeway::python {

namespace {

constexpr std::pair<DType, const char*> kTypeNames[] = {
    {DType::f64, "<f8"}, {DType::f32, "<f4"},     {DType::f16, "<f2"}, {DType::i64, "<i8"},
    {DType::i32, "<i4"}, {DType::i16, "<i2"},     {DType::i8, "|i1"},  {DType::u8, "|u1"},
    {DType::u16, "<u2"}, {DType::boolean, "|b1"},
};

const char* type_name(DType dtype) {
  for (const auto& [type, name] : kTypeNames) {
    if (type == dtype) return name;
  }
  throw nb::attribute_error("bf16 has no array interface; use from_dlpack");
}

DType parse_type(const char* operation, const std::string& wanted) {
  for (const auto& [type, name] : kTypeNames) {
    if (wanted == name) return type;
  }
  fail(ErrorKind::invalid_argument, operation,
       "unsupported element type \"" + wanted +
           "\"; convert it first, as with .astype(\"int64\") or .astype(\"float32\")");
}

}  // namespace

nb::dict write_interface(const Tensor& x, DType shown) {
  nb::dict entries;
  entries["version"] = 3;
  entries["shape"] = x.shape();
  entries["typestr"] = type_name(shown);
  entries["data"] =
      nb::make_tuple(reinterpret_cast<std::uintptr_t>(x.data()), x.storage()->read_only);
  entries["strides"] = nb::none();
  if (!x.is_contiguous()) {
    Strides bytes = x.strides();
    for (int dim = 0; dim < bytes.size(); ++dim) {
      bytes[dim] *= static_cast<std::int64_t>(size_of(x.dtype()));
    }
    entries["strides"] = bytes;
  }
  return entries;
}

std::optional<Memory> read_interface(const char* operation, nb::handle interface) {
  Memory memory;
  memory.dtype = parse_type(operation, nb::cast<std::string>(nb::object(interface["typestr"])));
  memory.shape = nb::cast<Dims>(nb::object(interface["shape"]));
  const nb::object data = interface["data"];
  const auto address = nb::cast<std::uintptr_t>(nb::object(data[0]));
  memory.data = reinterpret_cast<void*>(address);
  memory.read_only = nb::cast<bool>(nb::object(data[1]));
  const auto item = static_cast<std::int64_t>(size_of(memory.dtype));
  if (address % static_cast<std::uintptr_t>(item) != 0) return std::nullopt;
  const nb::object bytes = interface.attr("get")("strides");
  if (bytes.is_none()) {
    memory.strides = contiguous_strides(memory.shape);
    return memory;
  }
  memory.strides = nb::cast<Dims>(bytes);
  for (int dim = 0; dim < memory.strides.size(); ++dim) {
    if (memory.strides[dim] % item != 0) return std::nullopt;
    memory.strides[dim] /= item;
  }
  return memory;
}

}  // namespace causeway::python
