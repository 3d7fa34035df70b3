#include "causeway/tensor/sort.h"

#include "causeway/core/error.h"
#include "causeway/kernels/sort/sort.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway {

Sorted sort(const Tensor& x, int axis, bool descending) {
  if (x.n_dims() == 0) {
    const Sorted single = sort(x.reshape({1}), 0, descending);
    return {single.values.reshape({}), single.indices.reshape({})};
  }
  axis = normalize_axis("sort", axis, x.n_dims());
  const Tensor rows = x.transpose(axis, -1).contiguous();
  Tensor values = Tensor::empty(rows.shape(), x.dtype(), x.device());
  Tensor indices = Tensor::empty(rows.shape(), DType::i64, x.device());
  if (x.numel() > 0) {
    const StreamView stream = current_stream(x.device());
    const std::int64_t n_columns = rows.size(-1);
    kernels::sort(stream, operand(rows, stream), operand(values, stream), operand(indices, stream),
                  x.numel() / n_columns, n_columns, descending);
  }
  return {values.transpose(axis, -1).contiguous(), indices.transpose(axis, -1).contiguous()};
}

Sorted topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
  axis = normalize_axis("topk", axis, x.n_dims());
  if (k < 0 || k > x.shape()[axis]) {
    fail(ErrorKind::invalid_argument, "topk",
         fmt::format("k is {}, but axis {} of shape {} has {} entries", k, axis,
                     to_string(x.shape()), x.shape()[axis]));
  }
  const Sorted sorted = sort(x, axis, largest);
  return {sorted.values.slice(axis, 0, k).contiguous(),
          sorted.indices.slice(axis, 0, k).contiguous()};
}

}  // namespace causeway
