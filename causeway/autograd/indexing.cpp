#include "causeway/autograd/indexing.h"

#include "causeway/autograd/dense.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/kernels/embedding/embedding.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"

#include <numeric>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

std::vector<const Tensor*> addresses(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

// Sums the rows of `gradient` by the table row they were taken from.
Tensor table_gradient(const Tensor& gradient, const Tensor& index, std::int64_t n_entries) {
  const Tensor rows = dense(gradient);
  const Tensor places = dense(index.to(DType::i64));
  Tensor out = Tensor::empty({n_entries, rows.size(1)}, rows.dtype(), rows.device());
  const StreamView stream = current_stream(rows.device());
  if (out.numel() > 0) {
    kernels::embedding_gradient(stream, operand(rows, stream), operand(places, stream),
                                operand(out, stream), places.numel(), n_entries, rows.size(1));
  }
  return out;
}

std::vector<Tensor> record_split(const Tensor& x, std::vector<Tensor> pieces, int axis) {
  const Tensor* input = &x;
  const int n_pieces = static_cast<int>(pieces.size());
  return record_all("split", std::move(pieces), std::span(&input, 1), Reads{},
                    [axis, n_pieces](Backward& pass) {
                      std::vector<Tensor> gradients;
                      for (int i = 0; i < n_pieces; ++i) gradients.push_back(pass.gradient(i));
                      pass.accumulate(0, causeway::concatenate(gradients, axis));
                    });
}

}  // namespace

Tensor concatenate(std::span<const Tensor> tensors, int axis) {
  std::vector<std::int64_t> sizes;
  const Tensor out = causeway::concatenate(tensors, axis);
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.size(axis));
  return record("concatenate", out, addresses(tensors), Reads{}, [axis, sizes](Backward& pass) {
    const std::vector<Tensor> pieces = causeway::split(pass.gradient(), sizes, axis);
    for (std::size_t i = 0; i < pieces.size(); ++i) pass.accumulate(static_cast<int>(i), pieces[i]);
  });
}

Tensor stack(std::span<const Tensor> tensors, int axis) {
  const Tensor out = causeway::stack(tensors, axis);
  const int along = normalize_axis("stack", axis, out.n_dims());
  const int count = static_cast<int>(tensors.size());
  return record("stack", out, addresses(tensors), Reads{}, [along, count](Backward& pass) {
    const Tensor g = pass.gradient();
    for (int i = 0; i < count; ++i) pass.accumulate(i, g.select(along, i));
  });
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
  return record_split(x, causeway::split(x, size, axis), axis);
}

std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis) {
  return record_split(x, causeway::split(x, sizes, axis), axis);
}

Tensor pad(const Tensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
           Scalar value) {
  return record(
      "pad", causeway::pad(x, widths, value), {&x}, Reads{},
      [before = std::vector(widths.begin(), widths.end()), shape = x.shape()](Backward& pass) {
        Tensor g = pass.gradient();
        for (int axis = 0; axis < shape.size(); ++axis) {
          const std::int64_t start = before[static_cast<std::size_t>(axis)].first;
          g = g.slice(axis, start, start + shape[axis]);
        }
        pass.accumulate(0, g);
      });
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  const int along = normalize_axis("index_select", axis, x.n_dims());
  return record("index_select", causeway::index_select(x, axis, index), {&x}, Reads{&index},
                [along, index, shape = x.shape()](Backward& pass) {
                  // Move the axis to the front and flatten the rest to rows.
                  const Tensor g = pass.gradient().transpose(0, along).contiguous();
                  Shape moved = shape;
                  std::swap(moved[0], moved[along]);
                  const Tensor rows =
                      g.reshape({index.numel(), numel(moved) == 0 ? 0 : numel(moved) / moved[0]});
                  const Tensor out = table_gradient(rows, index, moved[0]);
                  pass.accumulate(0, out.reshape(moved).transpose(0, along));
                });
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  return record("gather", causeway::gather(x, axis, index), {&x}, Reads{&index},
                [axis, index, shape = x.shape()](Backward& pass) {
                  const Tensor g = pass.gradient();
                  const Tensor nothing = zeros(shape, g.dtype(), g.device());
                  pass.accumulate(0, causeway::scatter_add(nothing, axis, index, g));
                });
}

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  return record("scatter", causeway::scatter(x, axis, index, source), {&x, &source}, Reads{&index},
                [axis, index, shape = x.shape()](Backward& pass) {
                  const Tensor g = pass.gradient();
                  if (pass.needs(0)) {
                    const Tensor nothing = zeros(index.shape(), g.dtype(), g.device());
                    pass.accumulate(0, causeway::scatter(g, axis, index, nothing));
                  }
                  if (!pass.needs(1)) return;
                  // Each source writes its own number; those that read it back were not
                  // overwritten.
                  Shape along = Shape::filled(index.n_dims(), 1);
                  const int at = normalize_axis("scatter", axis, index.n_dims());
                  along[at] = index.shape()[at];
                  const Tensor numbers = arange(0, Scalar(along[at]), 1, DType::i64, g.device())
                                             .reshape(along)
                                             .expand(index.shape())
                                             .contiguous();
                  const Tensor nobody = full(shape, -1, DType::i64, g.device());
                  const Tensor last = causeway::scatter(nobody, axis, index, numbers);
                  const Tensor stands =
                      compare(CompareOp::equal, causeway::gather(last, axis, index), numbers);
                  pass.accumulate(1, causeway::gather(g, axis, index) * stands.to(g.dtype()));
                });
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  return record("scatter_add", causeway::scatter_add(x, axis, index, source), {&x, &source},
                Reads{&index}, [axis, index](Backward& pass) {
                  const Tensor g = pass.gradient();
                  pass.accumulate(0, g);
                  if (pass.needs(1)) pass.accumulate(1, causeway::gather(g, axis, index));
                });
}

Tensor embedding(const Tensor& table, const Tensor& index) {
  if (table.n_dims() != 2 || !is_integer(index.dtype())) {
    fail(ErrorKind::invalid_argument, "embedding",
         fmt::format("expected a table (entries, width) and integer indices, got {} and {} of {}",
                     to_string(table.shape()), to_string(index.shape()), to_string(index.dtype())));
  }
  Shape shape = index.shape();
  shape.push_back(table.size(1));
  const Tensor flat = index.to(DType::i64).contiguous().flatten();
  const Tensor out = causeway::index_select(table, 0, flat).reshape(shape);
  return record("embedding", out, {&table}, Reads{&flat},
                [flat, n_entries = table.size(0), width = table.size(1)](Backward& pass) {
                  pass.accumulate(0, table_gradient(pass.gradient().reshape({flat.numel(), width}),
                                                    flat, n_entries));
                });
}

}  // namespace causeway::autograd
