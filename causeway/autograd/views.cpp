#include "causeway/autograd/views.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <vector>

namespace causeway::autograd {

namespace {

// A view that contains every element once: the gradient is reshaped back.
Tensor reshaped(const char* name, const Tensor& x, const Tensor& view) {
  return record(name, detach(view), {&x}, Reads{}, [shape = x.shape()](Backward& pass) {
    pass.accumulate(0, pass.gradient().reshape(shape));
  });
}

// A view of some elements: the gradient of the others is 0.
template <class View>
Tensor part(const char* name, const Tensor& x, const View& view) {
  return record(name, view(x), {&x}, Reads{},
                [view, shape = x.shape(), dtype = x.dtype(), device = x.device()](Backward& pass) {
                  const Tensor whole = zeros(shape, dtype, device);
                  view(whole).copy_from(pass.gradient());
                  pass.accumulate(0, whole);
                });
}

Tensor same_values(const char* name, const Tensor& x, const Tensor& copy) {
  return record(name, detach(copy), {&x}, Reads{},
                [](Backward& pass) { pass.accumulate(0, pass.gradient()); });
}

}  // namespace

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return part("slice", x, [=](const Tensor& t) { return t.slice(axis, start, stop, step); });
}

Tensor select(const Tensor& x, int axis, std::int64_t index) {
  return part("select", x, [=](const Tensor& t) { return t.select(axis, index); });
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  return record("transpose", x.transpose(axis_a, axis_b), {&x}, Reads{}, [=](Backward& pass) {
    pass.accumulate(0, pass.gradient().transpose(axis_a, axis_b));
  });
}

Tensor permute(const Tensor& x, std::span<const int> axes) {
  const Tensor view = x.permute(axes);
  std::vector<int> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("permute", axes[i], x.n_dims());
    back[static_cast<std::size_t>(axis)] = static_cast<int>(i);
  }
  return record("permute", view, {&x}, Reads{},
                [back](Backward& pass) { pass.accumulate(0, pass.gradient().permute(back)); });
}

Tensor expand(const Tensor& x, const Shape& shape) {
  return record("expand", x.expand(shape), {&x}, Reads{}, [shape = x.shape()](Backward& pass) {
    pass.accumulate(0, sum_to(pass.gradient(), shape));
  });
}

Tensor squeeze(const Tensor& x) { return reshaped("squeeze", x, x.squeeze()); }
Tensor squeeze(const Tensor& x, int axis) { return reshaped("squeeze", x, x.squeeze(axis)); }
Tensor unsqueeze(const Tensor& x, int axis) { return reshaped("unsqueeze", x, x.unsqueeze(axis)); }
Tensor reshape(const Tensor& x, const Shape& shape) {
  return reshaped("reshape", x, x.reshape(shape));
}

Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : clone(x); }
Tensor clone(const Tensor& x) { return same_values("clone", x, x.clone()); }
Tensor to(const Tensor& x, Device device) {
  return device == x.device() ? x : same_values("to", x, x.to(device));
}
Tensor to(const Tensor& x, DType dtype) {
  return dtype == x.dtype() ? x : same_values("to", x, x.to(dtype));
}

}  // namespace causeway::autograd
