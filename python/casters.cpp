#include "python/casters.h"

#include "causeway/core/error.h"

#include <algorithm>
#include <climits>
#include <map>
#include <span>
#include <string>

namespace causeway::python {

namespace {

// An integer, or nothing; throws OverflowError above 64 bits.
std::optional<std::int64_t> read_integer(nb::handle source) {
  if (PyLong_Check(source.ptr()) == 0 && PyIndex_Check(source.ptr()) == 0) return std::nullopt;
  const nb::object integer = nb::steal(PyNumber_Index(source.ptr()));
  if (!integer.is_valid()) nb::raise_python_error();
  const long long value = PyLong_AsLongLong(integer.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

// The entries of an int or of a sequence of ints; false for anything else.
bool read_integers(nb::handle source, std::vector<std::int64_t>& values) {
  values.clear();
  const bool is_sequence = PyTuple_Check(source.ptr()) != 0 || PyList_Check(source.ptr()) != 0;
  if (!is_sequence) {
    const std::optional<std::int64_t> single = read_integer(source);
    if (single.has_value()) values.push_back(*single);
    return single.has_value();
  }
  for (nb::handle item : nb::borrow<nb::sequence>(source)) {
    const std::optional<std::int64_t> value = read_integer(item);
    if (!value.has_value()) return false;
    values.push_back(*value);
  }
  return true;
}

// Whether it is a NumPy scalar that is not a Python number.
bool is_numpy_scalar(nb::handle source) {
  return nb::hasattr(source, "__array_interface__") &&
         nb::isinstance(source, nb::module_::import_("numpy").attr("generic"));
}

}  // namespace

bool read_dims(nb::handle source, Dims& dims) {
  std::vector<std::int64_t> values;
  if (!read_integers(source, values)) return false;
  dims = Dims(std::span<const std::int64_t>(values));
  return true;
}

bool read_axes(nb::handle source, std::vector<int>& axes) {
  if (PyBool_Check(source.ptr()) != 0) return false;  // std(False) is not std(0)
  std::vector<std::int64_t> values;
  if (!read_integers(source, values)) return false;
  if (values.empty()) {
    fail(ErrorKind::invalid_argument, "axis", "axis () is empty; pass None for all axes");
  }
  axes.clear();
  for (const std::int64_t value : values) {
    const int axis = static_cast<int>(std::clamp<std::int64_t>(value, INT_MIN, INT_MAX));
    axes.push_back(axis);  // a truncated value is out of range either way
  }
  return true;
}

bool read_dtype(nb::handle source, DType& dtype) {
  if (nb::try_cast(source, dtype, false)) return true;  // no implicit conversion from int
  std::string name;
  if (nb::isinstance<nb::str>(source)) {
    name = nb::borrow<nb::str>(source).c_str();
  } else if (PyType_Check(source.ptr()) != 0) {  // float, numpy.float32
    name = nb::cast<std::string>(source.attr("__name__"));
  } else if (nb::hasattr(source, "itemsize") && nb::hasattr(source, "name")) {  // numpy.dtype
    name = nb::cast<std::string>(source.attr("name"));
  } else {
    return false;
  }
  dtype = parse_dtype(name == "bool_" ? "bool" : name);
  return true;
}

bool read_number(nb::handle source, kernels::Scalar& number) {
  if (PyFloat_Check(source.ptr()) != 0) {
    number = PyFloat_AsDouble(source.ptr());
    return true;
  }
  if (PyLong_Check(source.ptr()) != 0) {
    number = *read_integer(source);
    return true;
  }
  if (!is_numpy_scalar(source)) return false;
  const nb::object plain = source.attr("item")();
  return is_numpy_scalar(plain) ? false : read_number(plain, number);
}

bool names_device(std::string_view text) {
  return text == "cpu" || text == "auto" || text.starts_with("cuda");
}

bool Operand::read(nb::handle source) {
  if (nb::isinstance<Tensor>(source)) {
    tensor_ = nb::inst_ptr<Tensor>(source);
    return true;
  }
  if (read_number(source, number_)) return true;
  if (!nb::hasattr(source, "__array_interface__")) return false;
  array_ = from_array(source);
  return true;
}

namespace {

// The class of devices and its instances, which are made once: -1 is the CPU. Never destroyed,
// since Python may be gone at exit.
struct Devices {
  nb::object type = nb::borrow(reinterpret_cast<PyObject*>(&PyUnicode_Type));
  std::map<int, nb::object> made;
};

Devices& known_devices() {
  static auto* known = new Devices();
  return *known;
}

}  // namespace

void set_device_class(nb::object type) { known_devices() = {std::move(type), {}}; }

nb::object to_python(Device device) {
  auto& [type, made] = known_devices();
  nb::object& object = made[device.is_cuda() ? device.index : -1];
  if (!object.is_valid()) object = type(to_string(device));
  return object;
}

nb::tuple to_tuple(const Dims& dims) {
  nb::tuple tuple = nb::steal<nb::tuple>(PyTuple_New(dims.size()));
  for (int i = 0; i < dims.size(); ++i) {
    PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLongLong(dims[i]));
  }
  return tuple;
}

}  // namespace causeway::python
