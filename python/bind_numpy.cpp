// Tensors from NumPy arrays and back, by the array interface: without a copy on the CPU.
#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "python/array_interface.h"
#include "python/bind.h"
#include "python/casters.h"

#include <optional>

namespace causeway::python {

namespace {

nb::object numpy() { return nb::module_::import_("numpy"); }

// ml_dtypes registers it with NumPy as a type of kind "V"; NumPy is slow to tell a type's name.
bool is_bfloat16(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  return nb::getattr(dtype, "kind", nb::none()).equal(nb::str("V")) &&
         dtype.attr("name").equal(nb::str("bfloat16"));
}

nb::object ml_dtypes_bfloat16() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error&) {
    fail(ErrorKind::invalid_argument, "numpy",
         "NumPy has no bf16 of its own; install ml_dtypes, or convert with .to(\"f32\") first");
  }
}

// The type NumPy sees an element as; bf16 goes as u16.
DType shown(const Tensor& x) { return x.dtype() == DType::bf16 ? DType::u16 : x.dtype(); }

// What NumPy takes an array's memory from, and holds on to. Tensor itself does not serve: bf16
// would go as u16.
struct ArrayView {
  Tensor tensor;
};

nb::object to_numpy(const Tensor& x) {
  // The array keeps the memory, not what it was computed from.
  const Tensor host = without_gil([&] { return autograd::detach(x).to(Device::cpu()); });
  nb::object array;
  if (host.numel() == 0) {  // NumPy takes no null address
    const nb::dict described = write_interface(host, shown(host));
    array = numpy().attr("empty")(host.shape(), nb::object(described["typestr"]));
  } else {
    array = numpy().attr("asarray")(ArrayView{host});
  }
  return host.dtype() == DType::bf16 ? array.attr("view")(ml_dtypes_bfloat16()) : array;
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

// Nested lists and numbers; Python's floats become f32, as everywhere here, unless they are on
// their way to another type.
Tensor from_values(nb::handle source, bool converted) {
  const nb::object array = numpy().attr("asarray")(source);
  Tensor tensor = from_array(array);
  const bool typed = converted || nb::hasattr(source, "dtype") || nb::hasattr(source, "__array__");
  if (typed || tensor.dtype() != DType::f64) return tensor;
  return without_gil([&] { return tensor.to(DType::f32); });
}

Tensor finish(const Tensor& x, const Maybe<DTypeArg>& dtype, const Maybe<Device>& device) {
  return without_gil(
      [&] { return x.to(dtype.value_or(x.dtype())).to(device.value_or(x.device())); });
}

Tensor array(nb::handle source, Maybe<DTypeArg> dtype, Maybe<Device> device) {
  const Tensor shared = as_tensor(source, dtype.value.has_value());
  const Tensor made = finish(shared, dtype, device);
  return made.storage() == shared.storage() ? without_gil([&] { return made.clone(); }) : made;
}

Tensor asarray(nb::handle source, Maybe<DTypeArg> dtype, Maybe<Device> device) {
  return finish(as_tensor(source, dtype.value.has_value()), dtype, device);
}

}  // namespace

std::shared_ptr<void> keep_alive(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire acquired;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

Tensor from_array(nb::handle source) {
  // A scalar shows the memory of an array that is gone by then.
  if (nb::isinstance(source, numpy().attr("generic"))) {
    return from_array(numpy().attr("array")(source));
  }
  const bool is_bf16 = is_bfloat16(source);
  const nb::object array = is_bf16 ? source.attr("view")("uint16") : nb::borrow(source);
  const std::optional<Memory> memory =
      read_interface("array", nb::object(array.attr("__array_interface__")));
  // Fields of records and odd addresses need a copy.
  if (!memory.has_value()) return from_array(numpy().attr("array")(source));
  return Tensor::wrap(memory->data, memory->shape, memory->strides,
                      is_bf16 ? DType::bf16 : memory->dtype, Device::cpu(), keep_alive(array),
                      memory->read_only);
}

Tensor as_tensor(nb::handle source, bool converted) {
  if (nb::isinstance<Tensor>(source)) return nb::cast<Tensor>(source);
  if (nb::hasattr(source, "__array_interface__")) return from_array(source);
  if (nb::hasattr(source, "__dlpack__")) return from_dlpack(source);
  if (nb::hasattr(source, "__cuda_array_interface__")) return from_cuda_array(source);
  return from_values(source, converted);
}

void bind_numpy(nb::module_& module, TensorClass& tensor) {
  nb::class_<ArrayView>(module, "_ArrayView", "The memory behind a NumPy array made of a tensor.")
      .def_prop_ro("__array_interface__", [](const ArrayView& view) {
        return write_interface(view.tensor, shown(view.tensor));
      });
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
