// x[...] and x[...] = value with NumPy's rules: integers, slices, Ellipsis and None give views; one
// index array gives a copy. Boolean masks are not supported: the shape of the result would depend
// on the data and need synchronisation.
#include "causeway/autograd/views.h"
#include "causeway/autograd/indexing.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"
#include "python/bind.h"
#include "python/casters.h"

#include <optional>

namespace causeway::python {

namespace {

constexpr const char* kName = "index";

// One entry of a key; an index array is converted to a tensor.
struct Entry {
  nb::handle source;
  std::optional<Tensor> array;
  bool is_integer = false;

  bool is_none() const { return source.is_none(); }
  bool is_ellipsis() const { return source.is(nb::handle(Py_Ellipsis)); }
  bool takes_axis() const { return !is_none() && !is_ellipsis(); }
  // With an index array, NumPy treats integers as advanced indices too.
  bool is_advanced() const { return is_integer || array.has_value(); }
};

[[noreturn]] void refuse_mask() {
  fail(ErrorKind::invalid_argument, kName,
       "boolean masks are not supported, since the shape of the result would depend on the data; "
       "use where(mask, x, value), or index with integers");
}

Entry read_entry(nb::handle source) {
  Entry entry{source, std::nullopt, false};
  if (entry.is_none() || entry.is_ellipsis() || PySlice_Check(source.ptr()) != 0) return entry;
  if (PyBool_Check(source.ptr()) != 0) refuse_mask();
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
          "integers");
    }
    entry.is_integer = true;
    return entry;
  }
  Tensor array = as_tensor(source);
  if (array.dtype() == DType::boolean) refuse_mask();
  if (array.numel() == 0 && is_list) array = array.to(DType::i64);
  entry.array = std::move(array);
  return entry;
}

std::vector<Entry> read_key(const Tensor& x, nb::handle key) {
  std::vector<Entry> entries;
  if (nb::isinstance<nb::tuple>(key)) {
    for (nb::handle item : nb::borrow<nb::tuple>(key)) entries.push_back(read_entry(item));
  } else {
    entries.push_back(read_entry(key));
  }
  int axes = 0;
  int arrays = 0;
  int ellipses = 0;
  for (const Entry& entry : entries) {
    axes += entry.takes_axis() ? 1 : 0;
    arrays += entry.array.has_value() ? 1 : 0;
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
  if (arrays > 1) {
    fail(ErrorKind::invalid_argument, kName,
         "at most one index array is supported; use gather, or index twice");
  }
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

// Selects entries of `axis` by a flat index; negative ones count from the end.
Tensor take_array(const Tensor& x, int axis, const Tensor& index) {
  return without_gil([&] {
    Tensor places = index.to(x.device()).flatten();
    if (is_signed(places.dtype()) && is_integer(places.dtype())) {
      places = places.to(DType::i64);
      const Tensor wrapped = places + Scalar(x.shape()[axis]);
      const Tensor counts_back =
          compare(CompareOp::logical_and, compare(CompareOp::less, places, 0),
                  compare(CompareOp::greater_equal, wrapped, 0));
      places = where(counts_back, wrapped, places);
    }
    return autograd::index_select(x, axis, places);
  });
}

// Reshapes `axis`, which an index array selected, to the array's shape.
Tensor unflatten(const Tensor& x, int axis, const Shape& inner) {
  if (inner.size() == 1) return x;
  Shape shape;
  for (int dim = 0; dim < x.n_dims(); ++dim) {
    if (dim != axis) {
      shape.push_back(x.shape()[dim]);
      continue;
    }
    for (std::int64_t size : inner) shape.push_back(size);
  }
  return autograd::reshape(x, shape);
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

Tensor move_to_front(const Tensor& x, int axis) {
  std::vector<int> order{axis};
  for (int dim = 0; dim < x.n_dims(); ++dim) {
    if (dim != axis) order.push_back(dim);
  }
  return autograd::permute(x, order);
}

Tensor get(const Tensor& x, nb::handle key) {
  const std::vector<Entry> entries = read_key(x, key);
  int n_taken = 0;
  for (const Entry& entry : entries) n_taken += entry.takes_axis() ? 1 : 0;
  Tensor result = x;
  int axis = 0;
  int array_axis = -1;
  const Entry* with_array = nullptr;
  for (const Entry& entry : entries) {
    if (entry.is_none()) {
      result = autograd::unsqueeze(result, axis++);
    } else if (entry.is_ellipsis()) {
      axis += x.n_dims() - n_taken;
    } else if (entry.is_integer) {
      result = take_integer(result, axis, entry.source);
    } else if (entry.array.has_value()) {
      with_array = &entry;
      array_axis = axis++;
    } else {
      result = take_slice(result, axis, entry.source);
      ++axis;
    }
  }
  if (with_array == nullptr) return result;
  // Last, so that only the elements selected by the other entries are copied.
  result = take_array(result, array_axis, *with_array->array);
  if (goes_first(entries)) {
    result = move_to_front(result, array_axis);
    array_axis = 0;
  }
  return unflatten(result, array_axis, with_array->array->shape());
}

void set(const Tensor& x, nb::handle key, const Operand& value) {
  require_untracked(kName, x);
  for (const Entry& entry : read_key(x, key)) {
    if (entry.array.has_value()) {
      fail(ErrorKind::invalid_argument, kName,
           "assignment through an index array is not supported; use scatter or scatter_add");
    }
  }
  const Tensor target = get(autograd::detach(x), key);
  if (!value.is_tensor()) require_fits(kName, value.number(), x.dtype());
  if (value.is_tensor()) require_untracked_source(kName, value.tensor());
  without_gil([&] {
    if (!value.is_tensor()) {
      return target.copy_from(full({}, value.number(), x.dtype(), x.device()));
    }
    with_context("assigning to a view of shape " + to_string(target.shape()),
                 [&] { target.copy_from(value.tensor()); });
  });
}

}  // namespace

void bind_subscript(TensorClass& tensor) {
  tensor
      .def(
          "__getitem__", get, "key"_a.none(),
          nb::sig("def __getitem__(self, key: object, /) -> Tensor"),
          "A view for integers, slices, Ellipsis and None; a copy if one index is a list or tensor "
          "of integers.")
      .def("__setitem__", set, "key"_a.none(), "value"_a,
           nb::sig("def __setitem__(self, key: object, value: Tensor | float | numpy.ndarray[], /) "
                   "-> None"),
           "Overwrites the elements selected by integers, slices, Ellipsis and None.");
}

}  // namespace causeway::python
