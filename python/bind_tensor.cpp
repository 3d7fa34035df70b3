// The class Tensor: properties, views and copies; and the dtypes.
#include "causeway/autograd/views.h"
#include "causeway/tensor/tensor.h"

#include "causeway/core/error.h"
#include "python/bind.h"
#include "python/casters.h"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

namespace causeway::python {

namespace {

// Accepts reshape(2, 3) and reshape((2, 3)).
Dims dims_of(nb::args arguments) {
  Dims dims;
  const bool nested = arguments.size() == 1;
  if (!read_dims(nested ? nb::object(arguments[0]) : nb::object(arguments), dims)) {
    throw nb::type_error("expected integers, or one sequence of them");
  }
  return dims;
}

std::vector<int> axes_of(nb::args arguments) {
  const Dims dims = dims_of(arguments);
  return {dims.begin(), dims.end()};
}

// The shape of expand(): -1 is replaced by the size of the axis.
Dims kept_sizes(const Tensor& x, Dims shape) {
  const int n_new = shape.size() - x.n_dims();
  for (int axis = std::max(n_new, 0); axis < shape.size(); ++axis) {
    if (shape[axis] == -1) shape[axis] = x.shape()[axis - n_new];
  }
  return shape;
}

Tensor squeezed(const Tensor& x, const Axes& axes) {
  if (axes.list.empty()) return autograd::squeeze(x);
  std::vector<int> sorted;
  for (int axis : axes.list) sorted.push_back(axis < 0 ? axis + x.n_dims() : axis);
  std::sort(sorted.rbegin(), sorted.rend());
  Tensor result = x;
  for (int axis : sorted) {
    if (axis >= 0 && axis < x.n_dims() && x.shape()[axis] != 1) continue;  // as PyTorch
    result = autograd::squeeze(result, axis);
  }
  return result;
}

// Merges the axes from `first` to `last`.
Tensor flattened(const Tensor& x, int first, int last) {
  const int n = x.n_dims();
  const int from = first < 0 ? first + std::max(n, 1) : first;
  const int to = last < 0 ? last + std::max(n, 1) : last;
  if (from < 0 || to < from || to >= std::max(n, 1)) {
    fail(ErrorKind::invalid_argument, "flatten",
         "dimensions " + std::to_string(first) + " to " + std::to_string(last) + " of shape " +
             to_string(x.shape()));
  }
  Dims shape;
  std::int64_t merged = 1;
  for (int axis = 0; axis < n; ++axis) {
    const bool inside = axis >= from && axis <= to;
    merged *= inside ? x.shape()[axis] : 1;
    if (!inside) shape.push_back(x.shape()[axis]);
    if (axis == to) shape.push_back(merged);
  }
  if (n == 0) shape.push_back(1);
  return without_gil([&] { return autograd::reshape(x, shape); });
}

Tensor reversed(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = x.n_dims() - 1; axis >= 0; --axis) axes.push_back(axis);
  return autograd::permute(x, axes);
}

// The copy of a leaf is a leaf, shared by all references to it; that of a result is not tracked.
nb::object deep_copy(const Tensor& x, nb::dict memo) {
  const auto identity = reinterpret_cast<std::uintptr_t>(x.record().get());
  const nb::object key = nb::make_tuple("causeway.Tensor", identity);
  if (x.record() != nullptr && memo.contains(key)) return nb::object(memo[key]);
  const Tensor copy = without_gil([&] {
    Tensor made = autograd::detach(x).clone();
    if (autograd::is_leaf(x) && x.record() != nullptr) {
      autograd::set_requires_grad(made, true);
      autograd::set_requires_grad(made, autograd::requires_grad(x));
    }
    return made;
  });
  const nb::object result = nb::cast(copy);
  if (x.record() != nullptr) memo[key] = result;
  return result;
}

// The pickled state: bytes, dtype, shape, device, requires_grad. Shape and device are parsed later,
// since the conversion of a tuple must not throw.
using Pickled = std::tuple<nb::bytes, std::string, nb::tuple, std::string, bool>;

Pickled pickled(const Tensor& x) {
  const Tensor host =
      without_gil([&] { return autograd::detach(x).to(Device::cpu()).contiguous(); });
  return {nb::bytes(host.data(), host.n_bytes()), std::string(to_string(x.dtype())),
          to_tuple(x.shape()), to_string(x.device()), autograd::requires_grad(x)};
}

void unpickle(Tensor& self, const Pickled& state) {
  const auto& [bytes, dtype, shape, device, tracked] = state;
  const Tensor host = Tensor::empty(nb::cast<Dims>(shape), parse_dtype(dtype));
  if (host.n_bytes() != bytes.size()) {
    throw nb::value_error("the pickled tensor is damaged: its size does not match its shape");
  }
  std::copy_n(static_cast<const std::byte*>(bytes.data()), bytes.size(), host.data());
  Tensor tensor = host.to(parse_device(device));
  if (tracked) autograd::set_requires_grad(tensor, true);
  new (&self) Tensor(std::move(tensor));
}

// The targets of to(): devices, dtypes, and tensors that have both. Keywords are PyTorch's;
// non_blocking changes nothing, since copies are ordered by the stream.
Tensor to(const Tensor& x, nb::args arguments, nb::kwargs keywords) {
  nb::list targets(arguments);
  bool copies = false;
  for (auto [name, value] : keywords) {
    const std::string key = nb::cast<std::string>(name);
    if (key == "copy") copies = nb::cast<bool>(value);
    if ((key == "device" || key == "dtype") && !value.is_none()) targets.append(value);
    if (key != "device" && key != "dtype" && key != "copy" && key != "non_blocking") {
      throw nb::type_error(("to() has no keyword \"" + key + "\"").c_str());
    }
  }
  Tensor result = x;
  for (nb::handle target : targets) {
    if (nb::isinstance<Tensor>(target)) {
      const Tensor& like = nb::cast<const Tensor&>(target);
      result = without_gil(
          [&] { return autograd::to(autograd::to(result, like.device()), like.dtype()); });
      continue;
    }
    DType dtype = DType::f32;
    if (nb::isinstance<nb::str>(target) && names_device(nb::cast<std::string>(target))) {
      const Device device = nb::cast<Device>(target);
      result = without_gil([&] { return autograd::to(result, device); });
    } else if (read_dtype(target, dtype)) {
      result = without_gil([&] { return autograd::to(result, dtype); });
    } else {
      throw nb::type_error("to() takes devices, such as \"cuda:0\", and dtypes, such as \"f16\"");
    }
  }
  if (!copies || result.storage() != x.storage()) return result;
  return without_gil([&] { return autograd::clone(result); });
}

nb::object item(const Tensor& x) {
  if (is_floating(x.dtype())) return nb::float_(without_gil([&] { return x.item(); }));
  const std::int64_t value = without_gil([&] { return x.item_integer(); });
  return x.dtype() == DType::boolean ? nb::object(nb::bool_(value != 0))
                                     : nb::object(nb::int_(value));
}

std::size_t length(const Tensor& x) {
  if (x.n_dims() == 0) throw nb::type_error("a 0-d tensor has no len()");
  return static_cast<std::size_t>(x.shape()[0]);
}

// Iterates over x[0], x[1], … until InvalidIndex, which is an IndexError.
nb::object iterator(nb::handle_t<Tensor> self) {
  length(nb::cast<const Tensor&>(self));
  return nb::steal(PySeqIter_New(self.ptr()));
}

bool truth(const Tensor& x) {
  if (x.numel() != 1) {
    fail(ErrorKind::shape_mismatch, "bool",
         "shape " + to_string(x.shape()) + " has " + std::to_string(x.numel()) +
             " elements, so its truth value is ambiguous; use any() or all()");
  }
  return without_gil([&] { return x.to(DType::boolean).item_integer() != 0; });
}

void bind_properties(TensorClass& tensor) {
  tensor.def_prop_ro("shape", &Tensor::shape, "The shape.")
      .def_prop_ro("strides", &Tensor::strides, "Strides, in elements.")
      .def_prop_ro("dtype", &Tensor::dtype, "The element type.")
      .def_prop_ro("device", &Tensor::device, "\"cpu\" or \"cuda:<index>\".")
      .def_prop_ro("ndim", &Tensor::n_dims, "The number of dimensions.")
      .def_prop_ro("size", &Tensor::numel, "The number of elements.")
      .def_prop_ro("nbytes", &Tensor::n_bytes, "Size of all elements in bytes.")
      .def_prop_ro(
          "itemsize", [](const Tensor& x) { return size_of(x.dtype()); }, "Bytes of one element.")
      .def_prop_ro("is_contiguous", &Tensor::is_contiguous,
                   "Whether the tensor is contiguous (row-major).")
      .def_prop_ro(
          "data_ptr", [](const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.data()); },
          "Address of the first element.")
      .def_prop_ro("T", reversed, "A view with the axes reversed.");
}

void bind_views(TensorClass& tensor) {
  tensor
      .def(
          "reshape",
          [](const Tensor& x, nb::args shape) {
            const Dims wanted = dims_of(shape);
            return without_gil([&] { return autograd::reshape(x, wanted); });
          },
          nb::sig("def reshape(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"),
          "Reshapes the tensor; one size may be -1. A view if the strides allow it, else a "
          "copy.")
      .def("transpose", &autograd::transpose, "dim0"_a = -2, "dim1"_a = -1,
           "A view with two axes swapped.")
      .def("transpose", &autograd::transpose, "axis_a"_a, "axis_b"_a)
      .def(
          "permute",
          [](const Tensor& x, nb::args axes) { return autograd::permute(x, axes_of(axes)); },
          nb::sig("def permute(self, *axes: int | collections.abc.Sequence[int]) -> Tensor"),
          "A view with permuted axes.")
      .def(
          "expand",
          [](const Tensor& x, nb::args shape) {
            return autograd::expand(x, kept_sizes(x, dims_of(shape)));
          },
          nb::sig("def expand(self, *shape: int | collections.abc.Sequence[int]) -> Tensor"),
          "A view broadcast to a larger shape; -1 keeps a size.")
      .def("squeeze", squeezed, "dim"_a = nb::none(),
           "A view without the given axes of size 1, or without all of them; other axes stay.")
      .def(
          "squeeze", [](const Tensor& x, int axis) { return autograd::squeeze(x, axis); },
          nb::kw_only(), "axis"_a, "A view without an axis, whose size must be 1.")
      .def("unsqueeze", &autograd::unsqueeze, "dim"_a, "A view with an axis of size 1 added.")
      .def("unsqueeze", &autograd::unsqueeze, "axis"_a)
      .def("flatten", flattened, "start_dim"_a = 0, "end_dim"_a = -1,
           "Merges axes, by default all of them: a view if the strides allow it, else a copy.");
}

void bind_copies(TensorClass& tensor) {
  const auto clone = [](const Tensor& x) {
    return without_gil([&] { return autograd::clone(x); });
  };
  tensor
      .def(
          "contiguous",
          [](const Tensor& x) { return without_gil([&] { return autograd::contiguous(x); }); },
          "The tensor itself if it is contiguous, else a contiguous copy.")
      .def("clone", clone, "A contiguous copy.")
      .def("copy", clone, "A contiguous copy.")
      .def("__copy__", clone)
      .def("__deepcopy__", deep_copy, "memo"_a)
      .def("__getstate__", pickled)
      .def("__setstate__", unpickle)
      .def(
          "to", to,
          nb::sig("def to(self, *targets: str | DType | type | Tensor, device: str | None = None, "
                  "dtype: DType | str | type | None = None, non_blocking: bool = False, copy: bool "
                  "= False) -> Tensor"),
          "Converts device, dtype or both, as in x.to(\"cuda\", \"f16\"), or to those of another "
          "tensor; the tensor itself if nothing changes, unless copy is set.")
      .def(
          "astype",
          [](const Tensor& x, DTypeArg dtype) {
            return without_gil([&] { return autograd::to(x, dtype.value); });
          },
          "dtype"_a, "Converts the dtype; the tensor itself if it has that dtype.")
      .def(
          "copy_from",
          [](const Tensor& x, const Tensor& source) {
            require_untracked("copy_from", x);
            require_untracked_source("copy_from", source);
            without_gil([&] { x.copy_from(source); });
          },
          "source"_a, "Copies the elements of source, broadcast and converted, into the tensor.");
}

void bind_values(TensorClass& tensor) {
  tensor
      .def("item", item, nb::sig("def item(self) -> float | int | bool"),
           "The value of a tensor with one element as a Python number; waits for the device.")
      .def("__len__", length)
      .def("__iter__", iterator, nb::sig("def __iter__(self) -> collections.abc.Iterator[Tensor]"))
      .def("__bool__", truth)
      .def("__float__", [](const Tensor& x) { return without_gil([&] { return x.item(); }); })
      .def("__int__",
           [](const Tensor& x) {
             if (is_floating(x.dtype()) && !std::isfinite(without_gil([&] { return x.item(); }))) {
               throw nb::value_error("cannot convert NaN or infinity to an integer");
             }
             return without_gil([&] { return x.item_integer(); });
           })
      .def("__hash__",
           [](nb::handle_t<Tensor> self) {
             return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self.ptr()) >> 4);
           })
      .def("__repr__", [](const Tensor& x) { return without_gil([&] { return to_string(x); }); });
}

}  // namespace

void bind_dtype(nb::module_& module) {
  nb::enum_<DType> dtype(module, "DType", "The type of a tensor's elements.");
  for (DType value : kAllDTypes) {
    const std::string name(value == DType::boolean ? "bool_" : to_string(value));
    dtype.value(name.c_str(), value);
  }
  dtype.export_values();
  dtype
      .def_prop_ro(
          "itemsize", [](DType value) { return size_of(value); }, "Bytes of one element.")
      .def_prop_ro(
          "is_floating", [](DType value) { return is_floating(value); },
          "Whether it is f64, f32, f16 or bf16.");
}

void bind_tensor(TensorClass& tensor) {
  bind_properties(tensor);
  bind_views(tensor);
  bind_copies(tensor);
  bind_values(tensor);
}

}  // namespace causeway::python
