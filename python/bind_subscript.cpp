// x[...] and x[...] = value with NumPy's rules: integers, slices, Ellipsis and None give views;
// index arrays and masks give a copy. A mask waits for the device, since the shape of the result
// depends on the data.
#include "causeway/autograd/views.h"
#include "causeway/autograd/indexing.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"
#include "python/bind.h"
#include "python/casters.h"
#include "python/index_arrays.h"

#include <nanobind/stl/vector.h>

#include <optional>

namespace causeway::python {

namespace {

constexpr const char* kName = "index";

// One entry of a key; an index array is converted to a tensor.
struct Entry {
  nb::handle source;
  std::optional<Tensor> array;
  bool is_integer = false;
  std::int64_t mask_size = -1;  // of the axis of a mask that the array comes from

  bool is_none() const { return source.is_none(); }
  bool is_ellipsis() const { return source.is(nb::handle(Py_Ellipsis)); }
  bool takes_axis() const { return !is_none() && !is_ellipsis(); }
  // With an index array, NumPy treats integers as advanced indices too.
  bool is_advanced() const { return is_integer || array.has_value(); }
};

[[noreturn]] void refuse_truth_value() {
  fail(ErrorKind::invalid_argument, kName,
       "True and False are not indices; a mask is a tensor or list of them, None adds an axis");
}

Entry read_entry(nb::handle source) {
  Entry entry{source, std::nullopt, false};
  if (entry.is_none() || entry.is_ellipsis() || PySlice_Check(source.ptr()) != 0) return entry;
  if (PyBool_Check(source.ptr()) != 0) refuse_truth_value();
  if (PyLong_Check(source.ptr()) != 0) {
    entry.is_integer = true;
    return entry;
  }
  const bool is_list = PyList_Check(source.ptr()) != 0;
  const bool is_array =
      nb::isinstance<Tensor>(source) || nb::hasattr(source, "__array_interface__");
  if (!is_list && !is_array) {
    if (PyIndex_Check(source.ptr()) == 0) {
      throw nb::type_error(
          "expected an integer, a slice, Ellipsis, None, or a list or tensor of "
          "integers or truth values");
    }
    entry.is_integer = true;
    return entry;
  }
  Tensor array = as_tensor(source);
  if (array.numel() == 0 && is_list) array = array.to(DType::i64);
  entry.array = std::move(array);
  return entry;
}

// Appends an entry; a mask becomes the coordinates of its elements.
void append(std::vector<Entry>& entries, nb::handle source) {
  Entry entry = read_entry(source);
  if (!entry.array.has_value() || entry.array->dtype() != DType::boolean) {
    entries.push_back(std::move(entry));
    return;
  }
  if (entry.array->n_dims() == 0) refuse_truth_value();
  const Shape mask = entry.array->shape();
  int axis = 0;
  for (Tensor& index : without_gil([&] { return nonzero(*entry.array); })) {
    entries.push_back({source, std::move(index), false, mask[axis++]});
  }
}

std::vector<Entry> read_key(const Tensor& x, nb::handle key) {
  std::vector<Entry> entries;
  if (nb::isinstance<nb::tuple>(key)) {
    for (nb::handle item : nb::borrow<nb::tuple>(key)) append(entries, item);
  } else {
    append(entries, key);
  }
  int axes = 0;
  int ellipses = 0;
  for (const Entry& entry : entries) {
    axes += entry.takes_axis() ? 1 : 0;
    ellipses += entry.is_ellipsis() ? 1 : 0;
  }
  if (axes > x.n_dims()) {
    throw_index_error(("[index] " + std::to_string(axes) + " indices for shape " +
                       to_string(x.shape()) + ", which has " + std::to_string(x.n_dims()) +
                       " dimensions")
                          .c_str());
  }
  if (ellipses > 1)
    fail(ErrorKind::invalid_argument, kName, "an index can have at most one Ellipsis");
  return entries;
}

Tensor take_integer(const Tensor& x, int axis, nb::handle source) {
  const nb::object integer = nb::steal(PyNumber_Index(source.ptr()));
  if (!integer.is_valid()) nb::raise_python_error();
  const long long value = PyLong_AsLongLong(integer.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  try {
    return autograd::select(x, axis, value);
  } catch (const Error& error) {
    throw_index_error(error.what());
  }
}

Tensor take_slice(const Tensor& x, int axis, nb::handle source) {
  Py_ssize_t start = 0;
  Py_ssize_t stop = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(source.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
  PySlice_AdjustIndices(x.shape()[axis], &start, &stop, step);
  // Tensor::slice cannot express a start before the first entry.
  if (start < 0) return autograd::slice(x, axis, 0, 0, 1);
  return autograd::slice(x, axis, start, stop < 0 ? Tensor::kEnd : stop, step);
}

// If other entries separate integers and the index array, NumPy puts the array's dimensions first.
bool goes_first(const std::vector<Entry>& entries) {
  int first = -1;
  int last = -1;
  int count = 0;
  for (int i = 0; i < static_cast<int>(entries.size()); ++i) {
    if (!entries[static_cast<std::size_t>(i)].is_advanced()) continue;
    first = first < 0 ? i : first;
    last = i;
    ++count;
  }
  return count > 0 && last - first + 1 != count;
}

void require_mask_fits(const Entry& entry, std::int64_t size) {
  if (entry.mask_size < 0 || entry.mask_size == size) return;
  throw_index_error(("[index] a mask has size " + std::to_string(entry.mask_size) +
                     " along an axis of size " + std::to_string(size))
                        .c_str());
}

Tensor get(const Tensor& x, nb::handle key) {
  const std::vector<Entry> entries = read_key(x, key);
  int n_taken = 0;
  for (const Entry& entry : entries) n_taken += entry.takes_axis() ? 1 : 0;
  Tensor result = x;
  int axis = 0;
  std::vector<IndexArray> arrays;
  for (const Entry& entry : entries) {
    if (entry.is_none()) {
      result = autograd::unsqueeze(result, axis++);
    } else if (entry.is_ellipsis()) {
      axis += x.n_dims() - n_taken;
    } else if (entry.is_integer) {
      result = take_integer(result, axis, entry.source);
    } else if (entry.array.has_value()) {
      require_mask_fits(entry, result.shape()[axis]);
      arrays.push_back({*entry.array, axis++});
    } else {
      result = take_slice(result, axis, entry.source);
      ++axis;
    }
  }
  if (arrays.empty()) return result;
  // Last, so that only the elements selected by the other entries are copied.
  return take_arrays(result, arrays, goes_first(entries));
}

bool is_mask_of(nb::handle key, const Tensor& x) {
  if (!nb::isinstance<Tensor>(key)) return false;
  const Tensor& mask = nb::cast<const Tensor&>(key);
  return mask.dtype() == DType::boolean && mask.shape() == x.shape() && x.n_dims() > 0;
}

// Writes through index arrays: the positions of the elements are selected, then scattered to.
void set_through_arrays(const Tensor& x, nb::handle key, const Operand& value) {
  const Tensor all = without_gil(
      [&] { return arange(0, Scalar(x.numel()), 1, DType::i64, x.device()).reshape(x.shape()); });
  const Tensor places = get(all, key);
  without_gil([&] {
    const Tensor source = value.is_tensor() ? value.tensor().to(x.dtype()).to(x.device())
                                            : full({}, value.number(), x.dtype(), x.device());
    const Tensor values =
        with_context("assigning to elements of shape " + to_string(places.shape()),
                     [&] { return source.expand(places.shape()).contiguous().flatten(); });
    const Tensor flat = x.contiguous().flatten();
    x.copy_from(scatter(flat, 0, places.flatten(), values).reshape(x.shape()));
  });
}

void set(const Tensor& x, nb::handle key, const Operand& value) {
  require_untracked(kName, x);
  if (!value.is_tensor()) require_fits(kName, value.number(), x.dtype());
  if (value.is_tensor()) require_untracked_source(kName, value.tensor());
  if (!value.is_tensor() && is_mask_of(key, x)) {  // needs no indices, so it does not wait
    const Tensor& mask = nb::cast<const Tensor&>(key);
    return without_gil([&] {
      const Tensor number = full({}, value.number(), x.dtype(), x.device());
      x.copy_from(where(mask.to(x.device()), number, autograd::detach(x)));
    });
  }
  for (const Entry& entry : read_key(x, key)) {
    if (entry.array.has_value()) return set_through_arrays(autograd::detach(x), key, value);
  }
  const Tensor target = get(autograd::detach(x), key);
  without_gil([&] {
    if (!value.is_tensor()) {
      return target.copy_from(full({}, value.number(), x.dtype(), x.device()));
    }
    with_context("assigning to a view of shape " + to_string(target.shape()),
                 [&] { target.copy_from(value.tensor()); });
  });
}

}  // namespace

void bind_subscript(nb::module_& module, TensorClass& tensor) {
  module.def(
      "_nonzero", [](const Tensor& x) { return without_gil([&] { return nonzero(x); }); }, "x"_a);
  tensor
      .def(
          "__getitem__", get, "key"_a.none(),
          nb::sig("def __getitem__(self, key: object, /) -> Tensor"),
          "A view for integers, slices, Ellipsis and None; a copy if an index is a mask, or a list "
          "or tensor of integers.")
      .def("__setitem__", set, "key"_a.none(), "value"_a,
           nb::sig("def __setitem__(self, key: object, value: Tensor | float | numpy.ndarray[], /) "
                   "-> None"),
           "Overwrites the selected elements; of several writes to one element, the last is kept.");
}

}  // namespace causeway::python
