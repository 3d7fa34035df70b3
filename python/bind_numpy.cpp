// Conversion between tensors and NumPy arrays by the array interface, without a copy on the CPU.
#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "python/array_interface.h"
#include "python/bind.h"
#include "python/casters.h"

#include <optional>

namespace causeway::python {

namespace {

nb::object numpy() { return nb::module_::import_("numpy"); }

// ml_dtypes registers bfloat16 with kind "V"; the kind is checked first, since names are slow.
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
         "NumPy has no bf16; install ml_dtypes, or convert with .to(\"f32\") first");
  }
}

// The dtype in the array interface; bf16 is exported as u16.
DType shown(const Tensor& x) { return x.dtype() == DType::bf16 ? DType::u16 : x.dtype(); }

// The owner of a NumPy array's memory. Tensor itself cannot be: its bf16 would be u16.
struct ArrayView {
  Tensor tensor;
};

nb::object to_numpy(const Tensor& x) {
  // Detached, so that the array does not keep the tape alive.
  const Tensor host = without_gil([&] { return autograd::detach(x).to(Device::cpu()); });
  nb::object array;
  if (host.numel() == 0) {  // NumPy rejects null addresses
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
    throw nb::value_error("copy=False, but this NumPy array needs a copy");
  }
  if (converts) return array.attr("astype")(dtype);
  return !copy.is_none() && nb::cast<bool>(copy) ? array.attr("copy")() : array;
}

nb::object to_list(const Tensor& x) {
  const Tensor wide = x.dtype() == DType::bf16 ? without_gil([&] { return x.to(DType::f32); }) : x;
  return to_numpy(wide).attr("tolist")();
}

// From nested lists and numbers. Python floats become f32, unless `converted` to another dtype
// later.
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
  // A NumPy scalar's interface refers to a temporary array.
  if (nb::isinstance(source, numpy().attr("generic"))) {
    return from_array(numpy().attr("array")(source));
  }
  const bool is_bf16 = is_bfloat16(source);
  const nb::object array = is_bf16 ? source.attr("view")("uint16") : nb::borrow(source);
  const std::optional<Memory> memory =
      read_interface("array", nb::object(array.attr("__array_interface__")));
  // Record fields and unaligned addresses need a copy.
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
  nb::class_<ArrayView>(module, "_ArrayView",
                        "Owner of the memory of a NumPy array made from a tensor.")
      .def_prop_ro("__array_interface__", [](const ArrayView& view) {
        return write_interface(view.tensor, shown(view.tensor));
      });
  tensor.attr("__array_priority__") = 1000;  // so that ndarray + Tensor calls Tensor.__radd__
  tensor
      .def("numpy", to_numpy, nb::sig("def numpy(self) -> numpy.ndarray[]"),
           "The tensor as a NumPy array, which shares memory on the CPU. bf16 becomes "
           "ml_dtypes.bfloat16.")
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
      "Like array(), but shares memory with obj if possible.");
  module.def("from_numpy", from_array, "array"_a,
             nb::sig("def from_numpy(array: numpy.ndarray[]) -> Tensor"),
             "A CPU tensor that shares the array's memory.");
}

}  // namespace causeway::python
