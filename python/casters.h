// Type casters for shapes, dtypes, devices, axes, numbers and operands. They throw for a value of
// the right type that is invalid, so that users see the library's message and not a list of
// signatures.
#pragma once

#include "causeway/core/shape.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/runtime/device.h"
#include "python/bind.h"

#include <optional>
#include <vector>

namespace causeway::python {

// A dtype, its name, a Python or a NumPy type.
struct DTypeArg {
  DType value = DType::f32;
  operator DType() const { return value; }  // NOLINT: implicit
};

// None or a T whose caster throws; std::optional's caster does not propagate exceptions.
template <class T>
struct Maybe {
  std::optional<T> value;
  template <class Default>
  Default value_or(Default fallback) const {
    return value.has_value() ? static_cast<Default>(*value) : fallback;
  }
};

// None (all axes), one axis or several.
struct Axes {
  std::vector<int> list;  // empty for all
};

// A Python number, which takes the dtype of the other operand.
struct Number {
  kernels::Scalar value{0};
  operator kernels::Scalar() const { return value; }  // NOLINT
};

// A tensor, an array that is converted to one, or a number.
class Operand {
 public:
  bool is_tensor() const { return tensor_ != nullptr || array_.has_value(); }
  const Tensor& tensor() const { return tensor_ != nullptr ? *tensor_ : *array_; }
  kernels::Scalar number() const { return number_; }

  // False if `source` is neither.
  bool read(nb::handle source);

 private:
  const Tensor* tensor_ = nullptr;  // owned by the caller's argument
  std::optional<Tensor> array_;
  kernels::Scalar number_{0};
};

// Read the values above; false if `source` has another type.
bool read_dims(nb::handle source, Dims& dims);
bool read_axes(nb::handle source, std::vector<int>& axes);
bool read_dtype(nb::handle source, DType& dtype);
bool read_number(nb::handle source, kernels::Scalar& number);
// Whether a string names a device, as opposed to a dtype.
bool names_device(std::string_view text);

nb::tuple to_tuple(const Dims& dims);

// The Python class of devices: causeway.device, a str, once the package has set it.
void set_device_class(nb::object type);
nb::object to_python(Device device);

}  // namespace causeway::python

namespace nanobind::detail {

template <>
struct type_caster<causeway::Dims> {
  NB_TYPE_CASTER(causeway::Dims, io_name("int | collections.abc.Sequence[int]", "tuple[int, ...]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    return causeway::python::read_dims(source, value);
  }
  static handle from_cpp(const causeway::Dims& dims, rv_policy, cleanup_list*) noexcept {
    return causeway::python::to_tuple(dims).release();
  }
};

template <>
struct type_caster<causeway::Device> {
  NB_TYPE_CASTER(causeway::Device, const_name("str"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    if (!isinstance<str>(source)) return false;
    value = causeway::parse_device(borrow<str>(source).c_str());
    return true;
  }
  static handle from_cpp(causeway::Device device, rv_policy, cleanup_list*) noexcept {
    return causeway::python::to_python(device).release();
  }
};

template <>
struct type_caster<causeway::python::DTypeArg> {
  NB_TYPE_CASTER(causeway::python::DTypeArg, const_name("DType | str | type"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    return causeway::python::read_dtype(source, value.value);
  }
  static handle from_cpp(causeway::python::DTypeArg dtype, rv_policy policy,
                         cleanup_list* cleanup) noexcept {
    return make_caster<causeway::DType>::from_cpp(dtype.value, policy, cleanup);
  }
};

template <class T>
struct type_caster<causeway::python::Maybe<T>> {
  NB_TYPE_CASTER(causeway::python::Maybe<T>, make_caster<T>::Name)
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) {
    value.value.reset();
    if (source.is_none()) return true;
    make_caster<T> inner;
    if (!inner.from_python(source, flags, cleanup)) return false;
    value.value.emplace(inner.value);
    return true;
  }
};

template <>
struct type_caster<causeway::python::Axes> {
  NB_TYPE_CASTER(causeway::python::Axes, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    return source.is_none() || causeway::python::read_axes(source, value.list);
  }
};

template <>
struct type_caster<causeway::python::Number> {
  NB_TYPE_CASTER(causeway::python::Number, const_name("float"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) {
    return causeway::python::read_number(source, value.value);
  }
};

template <>
struct type_caster<causeway::python::Operand> {
  NB_TYPE_CASTER(causeway::python::Operand, const_name("Tensor | float | numpy.ndarray[]"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) { return value.read(source); }
};

}  // namespace nanobind::detail
