// Reductions, cumulative sums and sorting, as functions and as methods of Tensor.
#include "causeway/autograd/views.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/tensor/reduce.h"

#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/sort.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace causeway::python {

namespace {

// Adds one function to the module, with the tensor as its first argument, and to the class.
template <class Function, class... Extra>
void define(nb::module_& module, TensorClass& tensor, const char* name, const Function& function,
            const char* doc, const Extra&... extra) {
  module.def(name, function, "x"_a, extra..., doc);
  tensor.def(name, function, extra..., doc);
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
    {"min", ReduceOp::min, "The minimum over the axes, or over all; propagates NaN."},
    {"max", ReduceOp::max, "The maximum over the axes, or over all; propagates NaN."},
};

Tensor deviation(const Tensor& x, const Axes& axis, double correction, bool keepdims) {
  return without_gil([&] { return autograd::deviation(x, axis.list, correction, keepdims); });
}

Tensor running_sum(const Tensor& x, std::optional<int> axis) {
  return without_gil([&] {
    return axis.has_value() ? autograd::cumulative_sum(x, *axis)
                            : autograd::cumulative_sum(autograd::reshape(x, {-1}), 0);
  });
}

void bind_sums(nb::module_& module, TensorClass& tensor) {
  const auto axis = "axis"_a = nb::none();
  const auto keepdims = "keepdims"_a = false;
  for (const auto& [name, op, doc] : kReductions) {
    const auto function = [op = op](const Tensor& x, const Axes& axes, bool keep) {
      return without_gil([&] { return autograd::reduce(op, x, axes.list, keep); });
    };
    define(module, tensor, name, function, doc, axis, keepdims);
  }
  const auto var = [](const Tensor& x, const Axes& axes, double correction, bool keep) {
    return without_gil([&] { return autograd::variance(x, axes.list, correction, keep); });
  };
  const auto correction = "correction"_a = 0.0;
  define(module, tensor, "var", var,
         "The variance: squared deviations from the mean, divided by count - correction.", axis,
         correction, keepdims);
  define(module, tensor, "std", deviation, "The square root of var.", axis, correction, keepdims);
  const auto any_of = [](const Tensor& x, const Axes& axes, bool keep) {
    return without_gil([&] { return any(x, axes.list, keep); });
  };
  const auto all_of = [](const Tensor& x, const Axes& axes, bool keep) {
    return without_gil([&] { return all(x, axes.list, keep); });
  };
  define(module, tensor, "any", any_of, "Whether any element is nonzero, bool.", axis, keepdims);
  define(module, tensor, "all", all_of, "Whether all elements are nonzero, bool.", axis, keepdims);
  define(module, tensor, "cumsum", running_sum,
         "The cumulative sum along an axis, or of the flattened tensor; i64 for integers and bool.",
         axis);
}

void bind_positions(nb::module_& module, TensorClass& tensor) {
  const auto axis = "axis"_a = nb::none();
  const auto keepdims = "keepdims"_a = false;
  const auto first_least = [](const Tensor& x, std::optional<int> along, bool keep) {
    return without_gil([&] { return argmin(x, along, keep); });
  };
  const auto first_greatest = [](const Tensor& x, std::optional<int> along, bool keep) {
    return without_gil([&] { return argmax(x, along, keep); });
  };
  define(module, tensor, "argmin", first_least,
         "Index of the minimum, i64: the first of equals; NaN counts as the minimum.", axis,
         keepdims);
  define(module, tensor, "argmax", first_greatest,
         "Index of the maximum, i64: the first of equals; NaN counts as the maximum.", axis,
         keepdims);
}

void bind_sorting(nb::module_& module, TensorClass& tensor) {
  const auto axis = "axis"_a = -1;
  const auto descending = "descending"_a = false;
  const auto sorted = [](const Tensor& x, int along, bool reverse) {
    return without_gil([&] { return autograd::sort(x, along, reverse).values; });
  };
  const auto order = [](const Tensor& x, int along, bool reverse) {
    return without_gil([&] { return sort(x, along, reverse).indices; });
  };
  const auto best = [](const Tensor& x, std::int64_t k, int along, bool largest) {
    return without_gil([&] {
      Sorted found = autograd::topk(x, k, along, largest);
      return std::pair(std::move(found.values), std::move(found.indices));
    });
  };
  define(module, tensor, "sort", sorted,
         "A stably sorted copy along an axis; NaN counts as the largest value.", axis, descending);
  define(module, tensor, "argsort", order, "Indices that sort the tensor along an axis, i64.", axis,
         descending);
  define(module, tensor, "topk", best,
         "The k largest (or smallest) values along an axis in order, and their indices, i64.",
         "k"_a, axis, "largest"_a = true);
}

}  // namespace

void bind_reduce(nb::module_& module, TensorClass& tensor) {
  bind_sums(module, tensor);
  bind_positions(module, tensor);
  bind_sorting(module, tensor);
}

}  // namespace causeway::python
