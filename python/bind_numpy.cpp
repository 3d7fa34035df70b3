// Tensors from NumPy arrays and back, by the array interface: without a copy on the CPU.
#include "causeway/core/error.h"
#include "python/bind.h"
#include "python/casters.h"

#include <utility>

namespace causeway::python {

namespace {

nb::object numpy() { return nb::module_::import_("numpy"); }

constexpr std::pair<DType, const char*> kTypeStrings[] = {
    {DType::f64, "<f8"}, {DType::f32, "<f4"},     {DType::f16, "<f2"}, {DType::i64, "<i8"},
    {DType::i32, "<i4"}, {DType::i16, "<i2"},     {DType::i8, "|i1"},  {DType::u8, "|u1"},
    {DType::u16, "<u2"}, {DType::boolean, "|b1"},
};

bool is_bfloat16(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  const nb::object name = nb::getattr(dtype, "name", nb::none());
  return name.equal(nb::str("bfloat16"));
}

// Byte strides as element strides; false where they are no whole number of elements.
bool element_strides(nb::handle bytes, const Shape& shape, std::int64_t item, Strides& strides) {
  if (bytes.is_none()) {
    strides = contiguous_strides(shape);
    return true;
  }
  strides = nb::cast<Dims>(bytes);
  for (int dim = 0; dim < strides.size(); ++dim) {
    if (strides[dim] % item != 0) return false;
    strides[dim] /= item;
  }
  return true;
}

nb::object ml_dtypes_bfloat16() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error&) {
    fail(ErrorKind::invalid_argument, "numpy",
         "NumPy has no bf16 of its own; install ml_dtypes, or convert with .to(\"f32\") first");
  }
}

// The description NumPy reads; bf16 goes as u16.
nb::dict array_interface(const Tensor& x) {
  nb::dict entries;
  entries["version"] = 3;
  entries["shape"] = x.shape();
  entries["typestr"] = typestr(x.dtype() == DType::bf16 ? DType::u16 : x.dtype());
  entries["data"] =
      nb::make_tuple(reinterpret_cast<std::uintptr_t>(x.data()), x.storage()->read_only);
  if (!x.is_contiguous()) {
    Strides bytes = x.strides();
    for (int dim = 0; dim < bytes.size(); ++dim) {
      bytes[dim] *= static_cast<std::int64_t>(size_of(x.dtype()));
    }
    entries["strides"] = bytes;
  }
  return entries;
}

// What NumPy takes an array's memory from, and holds on to. Tensor itself does not serve: bf16
// would go as u16.
struct ArrayView {
  Tensor tensor;
};

nb::object to_numpy(const Tensor& x) {
  const Tensor host = without_gil([&] { return x.to(Device::cpu()); });
  const bool is_bf16 = host.dtype() == DType::bf16;
  const nb::object bfloat16 = is_bf16 ? ml_dtypes_bfloat16() : nb::none();
  nb::object array;
  if (host.numel() == 0) {
    array = numpy().attr("empty")(host.shape(), typestr(is_bf16 ? DType::u16 : host.dtype()));
  } else {
    array = numpy().attr("asarray")(ArrayView{host});
  }
  return is_bf16 ? array.attr("view")(bfloat16) : array;
}

nb::object array_method(const Tensor& x, nb::handle dtype, nb::handle copy) {
  const nb::object array = to_numpy(x);
  const bool converts = !dtype.is_none() && !array.attr("dtype").equal(dtype);
  const bool never_copies = !copy.is_none() && !nb::cast<bool>(copy);
  if (never_copies && (converts || x.device().is_cuda())) {
    throw nb::value_error("a copy is needed to make this NumPy array, and copy=False forbids it");
  }
  if (converts) return array.attr("astype")(dtype);
  return !copy.is_none() && nb::cast<bool>(copy) ? array.attr("copy")() : array;
}

nb::object to_list(const Tensor& x) {
  const Tensor wide = x.dtype() == DType::bf16 ? without_gil([&] { return x.to(DType::f32); }) : x;
  return to_numpy(wide).attr("tolist")();
}

// Nested lists and numbers; Python's floats become f32, as everywhere here.
Tensor from_values(nb::handle source) {
  const nb::object array = numpy().attr("asarray")(source);
  const Tensor tensor = from_array(array);
  const bool typed = nb::hasattr(source, "dtype") || nb::hasattr(source, "__array__");
  if (typed || tensor.dtype() != DType::f64) return tensor;
  return without_gil([&] { return tensor.to(DType::f32); });
}

Tensor finish(const Tensor& x, const Maybe<DTypeArg>& dtype, const Maybe<Device>& device) {
  return without_gil(
      [&] { return x.to(dtype.value_or(x.dtype())).to(device.value_or(x.device())); });
}

Tensor array(nb::handle source, Maybe<DTypeArg> dtype, Maybe<Device> device) {
  const Tensor shared = as_tensor(source);
  const Tensor made = finish(shared, dtype, device);
  return made.storage() == shared.storage() ? without_gil([&] { return made.clone(); }) : made;
}

Tensor asarray(nb::handle source, Maybe<DTypeArg> dtype, Maybe<Device> device) {
  return finish(as_tensor(source), dtype, device);
}

}  // namespace

const char* typestr(DType dtype) {
  for (const auto& [type, text] : kTypeStrings) {
    if (type == dtype) return text;
  }
  throw nb::attribute_error("bf16 has no array interface; use from_dlpack");
}

DType parse_typestr(const char* operation, nb::handle text) {
  const auto wanted = nb::cast<std::string>(text);
  for (const auto& [type, name] : kTypeStrings) {
    if (wanted == name) return type;
  }
  fail(ErrorKind::invalid_argument, operation,
       "no element type here is \"" + wanted +
           "\"; convert it first, as with .astype(\"int64\") or "
           ".astype(\"float32\")");
}

std::shared_ptr<void> keep_alive(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire acquired;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

Tensor from_array(nb::handle source) {
  nb::object array = nb::borrow(source);
  const bool is_bf16 = is_bfloat16(array);
  if (is_bf16) array = array.attr("view")("uint16");
  const nb::object interface = array.attr("__array_interface__");
  const DType dtype = parse_typestr("array", interface["typestr"]);
  const Shape shape = nb::cast<Dims>(nb::object(interface["shape"]));
  const nb::object data = interface["data"];
  const auto address = nb::cast<std::uintptr_t>(nb::object(data[0]));
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  Strides strides;
  const bool whole =
      element_strides(nb::object(interface.attr("get")("strides")), shape, item, strides);
  if (!whole || address % static_cast<std::uintptr_t>(item) != 0) {
    return from_array(numpy().attr("array")(source));  // fields of records, odd addresses
  }
  return Tensor::wrap(reinterpret_cast<void*>(address), shape, strides,
                      is_bf16 ? DType::bf16 : dtype, Device::cpu(), keep_alive(array),
                      nb::cast<bool>(nb::object(data[1])));
}

Tensor as_tensor(nb::handle source) {
  if (nb::isinstance<Tensor>(source)) return nb::cast<Tensor>(source);
  if (nb::hasattr(source, "__array_interface__")) return from_array(source);
  if (nb::hasattr(source, "__dlpack__")) return from_dlpack(source);
  if (nb::hasattr(source, "__cuda_array_interface__")) return from_cuda_array(source);
  return from_values(source);
}

void bind_numpy(nb::module_& module, TensorClass& tensor) {
  nb::class_<ArrayView>(module, "_ArrayView", "The memory behind a NumPy array made of a tensor.")
      .def_prop_ro("__array_interface__",
                   [](const ArrayView& view) { return array_interface(view.tensor); });
  tensor.attr("__array_priority__") = 1000;  // so that ndarray + Tensor asks the tensor
  tensor
      .def("numpy", to_numpy, nb::sig("def numpy(self) -> numpy.ndarray[]"),
           "The tensor as a NumPy array: without a copy on the CPU, where both share memory. bf16 "
           "becomes ml_dtypes.bfloat16.")
      .def("__array__", array_method, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> "
                   "numpy.ndarray[]"))
      .def("tolist", to_list, nb::sig("def tolist(self) -> list | float | int | bool"),
           "The elements as nested lists of Python numbers.");
  module.def(
      "array", array, "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def array(obj: object, dtype: DType | str | type | None = None, device: str | "
              "None = None) -> Tensor"),
      "A tensor with a copy of obj: nested lists, numbers, a NumPy array, or anything with "
      "__dlpack__, __array__ or __cuda_array_interface__. Python's floats become f32.");
  module.def(
      "asarray", asarray, "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def asarray(obj: object, dtype: DType | str | type | None = None, device: str "
              "| None = None) -> Tensor"),
      "The same, sharing memory with obj wherever that is possible.");
  module.def("from_numpy", from_array, "array"_a,
             nb::sig("def from_numpy(array: numpy.ndarray[]) -> Tensor"),
             "A CPU tensor that shares the array's memory.");
}

}  // namespace causeway::python
