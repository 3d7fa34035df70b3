// Concatenation, splitting, padding, gather and scatter.
#include "causeway/autograd/indexing.h"
#include "causeway/tensor/indexing.h"

#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <variant>

namespace causeway::python {

namespace {

using Width = std::pair<std::int64_t, std::int64_t>;
using Sizes = std::vector<std::int64_t>;

std::vector<Tensor> split_axis(const Tensor& x, const std::variant<std::int64_t, Sizes>& size,
                               int axis) {
  if (const auto* each = std::get_if<std::int64_t>(&size)) return autograd::split(x, *each, axis);
  return autograd::split(x, std::get<Sizes>(size), axis);
}

Tensor pad_axes(const Tensor& x, const std::variant<std::int64_t, std::vector<Width>>& widths,
                Number value) {
  require_fits("pad", value.value, x.dtype());
  std::vector<Width> pairs;
  if (const auto* all = std::get_if<std::int64_t>(&widths)) {
    pairs.assign(static_cast<std::size_t>(x.n_dims()), {*all, *all});
  } else {
    pairs = std::get<std::vector<Width>>(widths);
  }
  return without_gil([&] { return autograd::pad(x, pairs, value.value); });
}

void bind_joining(nb::module_& module, TensorClass& tensor) {
  const auto join = [](const std::vector<Tensor>& tensors, int axis) {
    // PyTorch ignores empty vectors, such as tensor([]), whatever the other shapes.
    std::vector<Tensor> parts;
    for (const Tensor& part : tensors) {
      if (part.shape() != Shape{0}) parts.push_back(part);
    }
    return without_gil(
        [&] { return autograd::concatenate(parts.empty() ? tensors : parts, axis); });
  };
  const auto pile = [](const std::vector<Tensor>& tensors, int axis) {
    return without_gil([&] { return autograd::stack(tensors, axis); });
  };
  constexpr const char* kJoin = "Concatenates tensors along an axis; dtypes are promoted.";
  for (const char* axis : {"dim", "axis"}) {
    for (const char* name : {"cat", "concat", "concatenate"}) {
      module.def(name, join, "tensors"_a, nb::arg(axis) = 0, kJoin);
    }
    module.def("stack", pile, "tensors"_a, nb::arg(axis) = 0,
               "Stacks tensors of one shape along a new axis.");
  }
  constexpr const char* kSplit =
      "Views along an axis: of `size` entries each, the last possibly shorter, or of the listed "
      "sizes.";
  for (const char* axis : {"dim", "axis"}) {
    for (const char* size : {"size", "split_size_or_sections"}) {
      module.def("split", split_axis, "x"_a, nb::arg(size), nb::arg(axis) = 0, kSplit);
      tensor.def("split", split_axis, nb::arg(size), nb::arg(axis) = 0, kSplit);
    }
    tensor.def("split", split_axis, "split_size"_a, nb::arg(axis) = 0, kSplit);
  }
  constexpr const char* kPad =
      "Pads x with `value` before and after each axis: one width for all, or a pair per "
      "axis.";
  module.def("pad", pad_axes, "x"_a, "widths"_a, "value"_a.sig("0") = 0, kPad);
  tensor.def("pad", pad_axes, "widths"_a, "value"_a.sig("0") = 0, kPad);
}

using Gather = Tensor (*)(const Tensor&, int, const Tensor&);
using Scatter = Tensor (*)(const Tensor&, int, const Tensor&, const Tensor&);

struct GatherName {
  const char* name;
  Gather function;
  const char* doc;
};

constexpr const char* kSelect =
    "Selects entries of an axis by a 1-D index of integers from 0 to size - 1.";
constexpr const char* kGather =
    "out[..., k, ...] = x[..., index[..., k, ...], ...]; the index has x's shape except along the "
    "axis.";

constexpr GatherName kGathers[] = {
    {"index_select", autograd::index_select, kSelect},
    {"take", autograd::index_select, kSelect},
    {"gather", autograd::gather, kGather},
    {"take_along_axis", autograd::gather, kGather},
};

struct ScatterName {
  const char* name;
  Scatter function;
  const char* doc;
};

constexpr ScatterName kScatters[] = {
    {"scatter", autograd::scatter,
     "A copy of x with out[..., index[..., k, ...], ...] = source[..., k, ...]; of several writes "
     "to one element the last is kept."},
    {"scatter_add", autograd::scatter_add, "Like scatter, but adds to the elements, in order."},
};

}  // namespace

void bind_indexing(nb::module_& module, TensorClass& tensor) {
  bind_joining(module, tensor);
  for (const auto& [name, function, doc] : kGathers) {
    const auto run = [function = function](const Tensor& x, const Tensor& index, int axis) {
      return without_gil([&] { return function(x, axis, index); });
    };
    module.def(name, run, "x"_a, "index"_a, "axis"_a, doc);
    tensor.def(name, run, "index"_a, "axis"_a, doc);
    if (std::string_view(name).starts_with("take")) continue;
    // PyTorch's order of arguments.
    const auto by_dim = [function = function](const Tensor& x, int dim, const Tensor& index) {
      return without_gil([&] { return function(x, dim, index); });
    };
    module.def(name, by_dim, "x"_a, "dim"_a, "index"_a, doc);
    tensor.def(name, by_dim, "dim"_a, "index"_a, doc);
  }
  for (const auto& [name, function, doc] : kScatters) {
    const auto run = [function = function](const Tensor& x, const Tensor& index,
                                           const Tensor& source, int axis) {
      return without_gil([&] { return function(x, axis, index, source); });
    };
    module.def(name, run, "x"_a, "index"_a, "source"_a, "axis"_a, doc);
    tensor.def(name, run, "index"_a, "source"_a, "axis"_a, doc);
    const auto by_dim = [function = function](const Tensor& x, int dim, const Tensor& index,
                                              const Tensor& source) {
      return without_gil([&] { return function(x, dim, index, source); });
    };
    module.def(name, by_dim, "x"_a, "dim"_a, "index"_a, "src"_a, doc);
    tensor.def(name, by_dim, "dim"_a, "index"_a, "src"_a, doc);
    const auto of_value = [function = function](const Tensor& x, int dim, const Tensor& index,
                                                Number value) {
      require_fits("scatter", value.value, x.dtype());
      return without_gil([&] {
        return function(x, dim, index, full(index.shape(), value.value, x.dtype(), x.device()));
      });
    };
    module.def(name, of_value, "x"_a, "dim"_a, "index"_a, "value"_a, doc);
    tensor.def(name, of_value, "dim"_a, "index"_a, "value"_a, doc);
  }
}

}  // namespace causeway::python
