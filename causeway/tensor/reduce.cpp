#include "causeway/tensor/reduce.h"

#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace causeway {

namespace {

// A reduction in the form that the kernels take.
struct Plan {
  Tensor dense;  // contiguous, its axes permuted
  kernels::Cube cube;
  Shape kept;                // kept sizes in the order of `dense`
  std::vector<int> restore;  // permutes `kept` to the tensor's order of axes
  Shape shape;               // of the result
};

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Fast path: neighbouring axes of a contiguous tensor.
Plan plain_plan(const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  Plan plan;
  plan.dense = x;
  for (int axis = 0; axis < x.n_dims(); ++axis) {
    const std::int64_t size = x.shape()[axis];
    if (axis < axes.front()) plan.cube.outer *= size;
    if (axis > axes.back()) plan.cube.inner *= size;
    const bool reduced = axis >= axes.front() && axis <= axes.back();
    if (reduced) plan.cube.axis *= size;
    if (!reduced || keep_dims) plan.shape.push_back(reduced ? 1 : size);
  }
  plan.kept = plan.shape;
  return plan;
}

// The result does not depend on the memory order of the axes, so they are sorted by decreasing
// stride and a transposed tensor needs no copy. If the reduced axes are not adjacent then, or there
// are gaps, a copy moves them to the end.
Plan make_plan(const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  Plan plan;
  const bool adjacent =
      !axes.empty() && axes.back() - axes.front() + 1 == static_cast<int>(axes.size());
  if (adjacent && x.is_contiguous()) return plain_plan(x, axes, keep_dims);
  std::vector<int> order(static_cast<std::size_t>(x.n_dims()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return x.strides()[a] > x.strides()[b]; });
  Tensor ordered = x.permute(order);
  const auto reduced = [&](int axis) { return contains(axes, axis); };
  const auto first = std::find_if(order.begin(), order.end(), reduced);
  const auto behind = std::find_if_not(first, order.end(), reduced);
  const bool neighbours = std::none_of(behind, order.end(), reduced);
  if (!ordered.is_contiguous() || !neighbours) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(), [&](int axis) { return !reduced(axis); });
    ordered = x.permute(order);
  }
  plan.dense = ordered.contiguous();
  std::vector<int> kept_axes;
  bool passed = false;
  for (int axis : order) {
    const std::int64_t size = x.shape()[axis];
    if (reduced(axis)) {
      plan.cube.axis *= size;
      passed = true;
    } else {
      (passed ? plan.cube.inner : plan.cube.outer) *= size;
      plan.kept.push_back(size);
      kept_axes.push_back(axis);
    }
  }
  for (int axis = 0; axis < x.n_dims(); ++axis) {
    if (reduced(axis)) {
      if (keep_dims) plan.shape.push_back(1);
      continue;
    }
    plan.shape.push_back(x.shape()[axis]);
    const auto place = std::find(kept_axes.begin(), kept_axes.end(), axis);
    plan.restore.push_back(static_cast<int>(place - kept_axes.begin()));
  }
  return plan;
}

Tensor finish(const Plan& plan, const Tensor& out) {
  if (plan.restore.empty() && plan.kept == plan.shape) return out;
  return out.permute(plan.restore).contiguous().reshape(plan.shape);
}

}  // namespace

Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  const std::string_view name = kernels::to_string(op);
  const std::vector<int> chosen = normalize_axes(name, axes, x.n_dims());
  const Plan plan = make_plan(x, chosen, keep_dims);
  if (plan.cube.axis == 0 && op >= ReduceOp::min && numel(plan.kept) > 0) {
    fail(ErrorKind::invalid_argument, name,
         fmt::format("the reduction has no identity: shape {} has no elements along the reduced "
                     "axes",
                     to_string(x.shape())));
  }
  Tensor out = Tensor::empty(plan.kept, kernels::result_dtype(op, x.dtype()), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::reduce(stream, op, operand(plan.dense, stream), operand(out, stream), plan.cube);
  }
  return finish(plan, out);
}

Tensor variance(const Tensor& x, const std::vector<int>& axes, double correction, bool keep_dims) {
  const std::vector<int> chosen = normalize_axes("variance", axes, x.n_dims());
  const Plan plan = make_plan(x.to(to_floating(x.dtype())), chosen, keep_dims);
  Tensor out = Tensor::empty(plan.kept, plan.dense.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::variance(stream, operand(plan.dense, stream), operand(out, stream), plan.cube,
                      correction);
  }
  return finish(plan, out);
}

namespace {

// max and min of bools; false and true for empty input.
Tensor reduce_bool(ReduceOp op, const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  const bool is_any = op == ReduceOp::max;
  if (x.numel() == 0) {
    const Tensor counts = sum(x.to(DType::boolean), axes, keep_dims);
    return compare(is_any ? CompareOp::not_equal : CompareOp::equal, counts, 0);
  }
  return reduce(op, x.to(DType::boolean), axes, keep_dims);
}

Tensor arg_extreme(ReduceOp op, const Tensor& x, std::optional<int> axis, bool keep_dims) {
  if (axis.has_value()) return reduce(op, x, {*axis}, keep_dims);
  const Tensor flat = reduce(op, x.contiguous().flatten(), {0}, false);
  return keep_dims ? flat.reshape(Shape::filled(x.n_dims(), 1)) : flat;
}

}  // namespace

Tensor any(const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  return reduce_bool(ReduceOp::max, x, axes, keep_dims);
}

Tensor all(const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  return reduce_bool(ReduceOp::min, x, axes, keep_dims);
}

Tensor argmin(const Tensor& x, std::optional<int> axis, bool keep_dims) {
  return arg_extreme(ReduceOp::argmin, x, axis, keep_dims);
}

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keep_dims) {
  return arg_extreme(ReduceOp::argmax, x, axis, keep_dims);
}

Tensor cumulative_sum(const Tensor& x, int axis) {
  axis = normalize_axis("cumulative_sum", axis, x.n_dims());
  const Tensor rows = x.transpose(axis, -1).contiguous();
  Tensor out =
      Tensor::empty(rows.shape(), kernels::result_dtype(ReduceOp::sum, x.dtype()), x.device());
  if (x.numel() > 0) {
    const StreamView stream = current_stream(x.device());
    kernels::cumulative_sum(stream, operand(rows, stream), operand(out, stream),
                            x.numel() / rows.size(-1), rows.size(-1));
  }
  return out.transpose(axis, -1).contiguous();
}

}  // namespace causeway
