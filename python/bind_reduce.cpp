// Reductions, cumulative sums and sorting, as functions and as methods of Tensor.
#include "causeway/autograd/views.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/tensor/reduce.h"

#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/sort.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/optional.h>

namespace causeway::python {

namespace {

// Adds one function to the module, with the tensor as its first argument, and to the class.
template <class Function, class... Extra>
void define(nb::module_& module, TensorClass& tensor, const char* name, const Function& function,
            const char* doc, const Extra&... extra) {
  module.def(name, function, "x"_a, extra..., doc);
  tensor.def(name, function, extra..., doc);
}

// The overloads of a reduction: PyTorch's `dim` and `keepdim`, NumPy's `axis` and `keepdims`, and
// the mixture that PyTorch allows.
template <class Function>
void define_reduction(nb::module_& module, TensorClass& tensor, const char* name,
                      const Function& function, const char* doc) {
  define(module, tensor, name, function, doc, "dim"_a = nb::none(), "keepdim"_a = false);
  define(module, tensor, name, function, doc, "axis"_a = nb::none(), "keepdims"_a = false);
  define(module, tensor, name, function, doc, "dim"_a, nb::kw_only(), "keepdims"_a);
}

// A reduction that can convert first, as PyTorch's sum(dtype=…).
template <class Function>
void define_converting(nb::module_& module, TensorClass& tensor, const char* name,
                       const Function& function, const char* doc) {
  const auto converted = [function](const Tensor& x, const Axes& axes, bool keep, DTypeArg dtype) {
    const Tensor wide = without_gil([&] { return autograd::to(x, dtype.value); });
    return function(wide, axes, keep);
  };
  define(module, tensor, name, converted, doc, "dim"_a = nb::none(), "keepdim"_a = false,
         nb::kw_only(), "dtype"_a);
}

struct ReduceName {
  const char* name;
  ReduceOp op;
  const char* doc;
};

constexpr ReduceName kReductions[] = {
    {"sum", ReduceOp::sum, "The sum over the axes, or over all; i64 for integers and bool."},
    {"mean", ReduceOp::mean, "The mean over the axes, or over all; f32 for integers and bool."},
    {"prod", ReduceOp::prod, "The product over the axes, or over all; i64 for integers and bool."},
};

Tensor running_sum(const Tensor& x, std::optional<int> axis) {
  return without_gil([&] {
    return axis.has_value() ? autograd::cumulative_sum(x, *axis)
                            : autograd::cumulative_sum(autograd::reshape(x, {-1}), 0);
  });
}

// A named tuple (values, indices).
nb::object values_and_indices(const Sorted& found) {
  static const auto* type = new nb::object(
      nb::module_::import_("collections").attr("namedtuple")("Sorted", "values indices"));
  return (*type)(found.values, found.indices);
}

// The extremes along one axis, as PyTorch's max(dim): of equal ones, the first has the gradient.
nb::object extremes(bool greatest, const Tensor& x, int dim, bool keep) {
  return values_and_indices(without_gil([&] {
    const Tensor index = greatest ? argmax(x, dim, true) : argmin(x, dim, true);
    const Tensor values = autograd::gather(x, dim, index);
    if (keep) return Sorted{values, index};
    return Sorted{autograd::squeeze(values, dim), index.squeeze(dim)};
  }));
}

void bind_extremes(nb::module_& module, TensorClass& tensor) {
  struct Name {
    const char* name;
    ReduceOp op;
    BinaryOp elementwise;
    const char* doc;
  };
  constexpr Name kExtremes[] = {
      {"min", ReduceOp::min, BinaryOp::minimum,
       "The minimum over all elements, or over NumPy's `axis`; the minima and their indices with "
       "PyTorch's `dim`; the elementwise minimum of two tensors. Propagates NaN."},
      {"max", ReduceOp::max, BinaryOp::maximum,
       "The maximum over all elements, or over NumPy's `axis`; the maxima and their indices with "
       "PyTorch's `dim`; the elementwise maximum of two tensors. Propagates NaN."},
  };
  for (const auto& [name, op, elementwise, doc] : kExtremes) {
    const bool greatest = op == ReduceOp::max;
    const auto all = [op = op](const Tensor& x) {
      return without_gil([&] { return autograd::reduce(op, x, {}, false); });
    };
    const auto over = [op = op](const Tensor& x, const Axes& axes, bool keep) {
      return without_gil([&] { return autograd::reduce(op, x, axes.list, keep); });
    };
    const auto along = [greatest](const Tensor& x, int dim, bool keep) {
      return extremes(greatest, x, dim, keep);
    };
    const auto of_two = [elementwise = elementwise](const Tensor& x, const Tensor& other) {
      return without_gil([&] { return autograd::binary(elementwise, x, other); });
    };
    define(module, tensor, name, all, doc);
    define(module, tensor, name, along, doc, "dim"_a, "keepdim"_a = false);
    define(module, tensor, name, over, doc, nb::kw_only(), "axis"_a = nb::none(),
           "keepdims"_a = false);
    define(module, tensor, name, of_two, doc, "other"_a);
    // NumPy's positional axis with its keyword.
    define(module, tensor, name, over, doc, "axis"_a, nb::kw_only(), "keepdims"_a);
  }
}

void bind_sums(nb::module_& module, TensorClass& tensor) {
  for (const auto& [name, op, doc] : kReductions) {
    const auto function = [op = op](const Tensor& x, const Axes& axes, bool keep) {
      return without_gil([&] { return autograd::reduce(op, x, axes.list, keep); });
    };
    define_reduction(module, tensor, name, function, doc);
    define_converting(module, tensor, name, function, doc);
  }
  const auto any_of = [](const Tensor& x, const Axes& axes, bool keep) {
    return without_gil([&] { return any(x, axes.list, keep); });
  };
  const auto all_of = [](const Tensor& x, const Axes& axes, bool keep) {
    return without_gil([&] { return all(x, axes.list, keep); });
  };
  define_reduction(module, tensor, "any", any_of, "Whether any element is nonzero, bool.");
  define_reduction(module, tensor, "all", all_of, "Whether all elements are nonzero, bool.");
  constexpr const char* kCumulative =
      "The cumulative sum along an axis, or of the flattened tensor; i64 for integers and bool.";
  define(module, tensor, "cumsum", running_sum, kCumulative, "dim"_a = nb::none());
  define(module, tensor, "cumsum", running_sum, kCumulative, "axis"_a = nb::none());
}

// PyTorch divides by count - 1, NumPy (`axis`) by count.
void bind_deviations(nb::module_& module, TensorClass& tensor) {
  struct Name {
    const char* name;
    Tensor (*function)(const Tensor&, const std::vector<int>&, double, bool);
    const char* doc;
  };
  constexpr Name kNames[] = {
      {"var", autograd::variance,
       "The variance: squared deviations from the mean, divided by count - correction. The default "
       "correction is 1, as in PyTorch, or 0 with NumPy's `axis`."},
      {"std", autograd::deviation, "The square root of var."},
  };
  for (const auto& [name, function, doc] : kNames) {
    const auto torch = [function = function](const Tensor& x, const Axes& axes, double correction,
                                             bool keep) {
      return without_gil([&] { return function(x, axes.list, correction, keep); });
    };
    const auto unbiased = [function = function](const Tensor& x, const Axes& axes, bool minus_one,
                                                bool keep) {
      return without_gil([&] { return function(x, axes.list, minus_one ? 1 : 0, keep); });
    };
    const auto one = "correction"_a = 1.0;
    define(module, tensor, name, torch, doc, "dim"_a = nb::none(), nb::kw_only(), one,
           "keepdim"_a = false);
    define(module, tensor, name, torch, doc, nb::kw_only(), "axis"_a.none(), "correction"_a = 0.0,
           "keepdims"_a = false);
    define(module, tensor, name, torch, doc, "dim"_a, nb::kw_only(), one, "keepdims"_a);
    define(module, tensor, name, unbiased, doc, "dim"_a = nb::none(), "unbiased"_a = true,
           "keepdim"_a = false);
  }
}

void bind_positions(nb::module_& module, TensorClass& tensor) {
  struct Name {
    const char* name;
    Tensor (*function)(const Tensor&, std::optional<int>, bool);
    const char* doc;
  };
  constexpr Name kNames[] = {
      {"argmin", argmin,
       "Index of the minimum, i64: the first of equals; NaN counts as the minimum."},
      {"argmax", argmax,
       "Index of the maximum, i64: the first of equals; NaN counts as the maximum."},
  };
  for (const auto& [name, function, doc] : kNames) {
    const auto find = [function = function](const Tensor& x, std::optional<int> along, bool keep) {
      return without_gil([&] { return function(x, along, keep); });
    };
    define_reduction(module, tensor, name, find, doc);
  }
}

void bind_sorting(nb::module_& module, TensorClass& tensor) {
  const auto descending = "descending"_a = false;
  const auto sorted = [](const Tensor& x, int along, bool reverse) {
    return without_gil([&] { return autograd::sort(x, along, reverse).values; });
  };
  const auto both = [](const Tensor& x, int along, bool reverse, bool /*stable*/) {
    return values_and_indices(without_gil([&] { return autograd::sort(x, along, reverse); }));
  };
  const auto order = [](const Tensor& x, int along, bool reverse, bool /*stable*/) {
    return without_gil([&] { return sort(x, along, reverse).indices; });
  };
  const auto best = [](const Tensor& x, std::int64_t k, int along, bool largest, bool /*sorted*/) {
    return values_and_indices(without_gil([&] { return autograd::topk(x, k, along, largest); }));
  };
  const auto stable = "stable"_a = true;
  const auto in_order = "sorted"_a = true;
  constexpr const char* kSort =
      "The stably sorted values along an axis and their indices, i64; only the values with NumPy's "
      "`axis`. NaN counts as the largest value.";
  define(module, tensor, "sort", both, kSort, "dim"_a = -1, descending, stable);
  define(module, tensor, "sort", sorted, kSort, nb::kw_only(), "axis"_a, descending);
  for (const char* axis : {"dim", "axis"}) {
    define(module, tensor, "argsort", order, "Indices that sort the tensor along an axis, i64.",
           nb::arg(axis) = -1, descending, stable);
    define(module, tensor, "topk", best,
           "The k largest (or smallest) values along an axis in order, and their indices, i64.",
           "k"_a, nb::arg(axis) = -1, "largest"_a = true, in_order);
  }
}

}  // namespace

void bind_reduce(nb::module_& module, TensorClass& tensor) {
  bind_sums(module, tensor);
  bind_extremes(module, tensor);
  bind_deviations(module, tensor);
  bind_positions(module, tensor);
  bind_sorting(module, tensor);
}

}  // namespace causeway::python
