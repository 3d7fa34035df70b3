#include "causeway/models/tabular_encoder.h"

#include "causeway/core/error.h"
#include "causeway/models/kernels/reversed_tables.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/sort.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// The context's finite values of each feature, ascending; kNoValue after them.
Tensor sort_context(const Tables& tables) {
  const Device device = tables.x.device();
  const Tensor place = arange(0, tables.x.size(1), 1, DType::i64, device).reshape({-1, 1});
  const Tensor n_context = tables.sizes.slice(1, 2, 3).reshape({-1, 1, 1});
  const Tensor is_known =
      compare(CompareOp::less, place, n_context) * predicate(PredicateOp::is_finite, tables.x);
  const Tensor known = where(is_known, tables.x, full({}, kernels::kNoValue, DType::f32, device));
  return sort(known.transpose(1, 2).contiguous()).values;
}

}  // namespace

Tables reversed(const Tables& tables, bool has_classes) {
  const auto& [x, y, sizes] = tables;
  Tables made{Tensor::empty(x.shape(), x.dtype(), x.device()),
              Tensor::empty(y.shape(), y.dtype(), y.device()), sizes};
  const StreamView stream = current_stream(x.device());
  kernels::reverse_tables(stream, operand(x, stream), operand(y, stream), operand(sizes, stream),
                          has_classes, operand(made.x, stream), operand(made.y, stream));
  return made;
}

Tensor feature_tokens(const kernels::TableInputs& inputs, const Tensor& n_features) {
  if (inputs.columns_per_token == 1) return n_features;
  const Tensor own = binary(BinaryOp::minimum, n_features, Scalar(kernels::kOwnTokens));
  const Tensor shares = n_features.to(DType::f64) / static_cast<double>(inputs.columns_per_token);
  return binary(BinaryOp::maximum, own, unary(UnaryOp::ceil, shares).to(DType::i64));
}

void require_tables(const Tables& tables, const Tensor& encoder) {
  const auto& [x, y, sizes] = tables;
  const bool shaped = x.n_dims() == 3 && y.shape() == Shape{x.size(0), x.size(1)} &&
                      sizes.shape() == Shape{x.size(0), 3};
  const bool typed =
      x.dtype() == DType::f32 && y.dtype() == DType::f32 && sizes.dtype() == DType::i64;
  if (!shaped || !typed || !x.is_contiguous() || !y.is_contiguous() || !sizes.is_contiguous()) {
    fail(ErrorKind::shape_mismatch, "tabular transformer",
         fmt::format("x {} of {}, y {} of {}, sizes {} of {}: expected contiguous (tables, rows, "
                     "features) f32, (tables, rows) f32, (tables, 3) i64",
                     to_string(x.shape()), to_string(x.dtype()), to_string(y.shape()),
                     to_string(y.dtype()), to_string(sizes.shape()), to_string(sizes.dtype())));
  }
  for (const Tensor* tensor : {&y, &sizes, &encoder}) {
    require_same_device("tabular transformer", x, *tensor);
  }
  if (x.device() != Device::cpu()) return;  // reading them would synchronise
  const auto* size = sizes.data_as<std::int64_t>();
  for (std::int64_t table = 0; table < x.size(0); ++table, size += 3) {
    const bool fits = size[0] >= 0 && size[0] <= x.size(1) && size[1] >= 0 &&
                      size[1] <= x.size(2) && size[2] >= 0 && size[2] <= size[0];
    if (fits) continue;
    fail(ErrorKind::invalid_argument, "tabular transformer",
         fmt::format(
             "table {} has {} rows, {} features and {} context rows in sizes; x has {} rows and "
             "{} features",
             table, size[0], size[1], size[2], x.size(1), x.size(2)));
  }
}

TableStatistics measure_tables(const kernels::TableInputs& inputs, const Tables& tables) {
  TableStatistics made{
      Tensor::empty({tables.x.size(0), tables.x.size(2) + 1, 2}, DType::f32, tables.x.device()),
      {}};
  const StreamView stream = current_stream(tables.x.device());
  kernels::table_statistics(stream, operand(tables.x, stream), operand(tables.y, stream),
                            operand(tables.sizes, stream), operand(made.moments, stream));
  if (inputs.radial) made.sorted = sort_context(tables);
  return made;
}

Tensor encoder_inputs(const kernels::TableInputs& inputs, const Tables& tables,
                      const TableStatistics& statistics, bool with_thinking, DType dtype) {
  const std::int64_t rows = tables.x.size(1) + (with_thinking ? inputs.n_thinking : 0);
  const std::int64_t n_tokens = 1 + inputs.feature_tokens(tables.x.size(2));
  const Tensor made =
      Tensor::empty({tables.x.size(0), rows, n_tokens, inputs.width()}, dtype, tables.x.device());
  const StreamView stream = current_stream(tables.x.device());
  const auto& sorted = statistics.sorted;
  kernels::table_inputs(stream, inputs, operand(tables.x, stream), operand(tables.y, stream),
                        operand(tables.sizes, stream), operand(statistics.moments, stream),
                        sorted.has_value() ? operand(*sorted, stream) : kernels::Operand(),
                        operand(made, stream));
  return made;
}

void init_encoder(const Tensor& weight, const kernels::TableInputs& inputs, Generator& generator) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs.group));
  nn::fill_(weight, 0);
  nn::uniform_(weight.slice(1, 0, inputs.target()), -bound, bound, generator);
  nn::uniform_(weight.slice(1, inputs.target(), inputs.used()), -1, 1, generator);
}

}  // namespace causeway::models
