#include "causeway/models/tabular.h"

#include "causeway/autograd/checkpoint.h"
#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/models/normal.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace causeway::models {

namespace {

using nn::Linear;
using nn::Placement;

// Bins have equal probability under a normal distribution of this standard deviation, which is
// wider than the target's, so that there are bins in the tails.
constexpr double kSpread = 1.5;

Tensor initial_borders(std::int64_t bins, Device device) {
  std::vector<float> borders;
  for (std::int64_t i = 1; i < bins; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(bins);
    borders.push_back(static_cast<float>(kSpread * normal_quantile(share)));
  }
  return Tensor::from<float>(borders, {bins - 1}, device);
}

// The number of tokens of every row, including the target's.
Tensor count_tokens(const kernels::TableInputs& inputs, const Tensor& sizes, std::int64_t n_rows) {
  const Tensor counts = feature_tokens(inputs, sizes.slice(1, 1, 2)) + Scalar(1);
  return counts.expand({sizes.size(0), n_rows}).contiguous().flatten();
}

enum class Branch { columns, rows, mlp };
// By LayerOrder.
constexpr std::array<std::array<Branch, 3>, 2> kOrders = {
    {{Branch::columns, Branch::rows, Branch::mlp}, {Branch::rows, Branch::mlp, Branch::columns}}};

// Applies body(slice, begin, end) to x, in pieces whose progress is reported if there is a meter.
template <class Body>
Tensor in_pieces(WorkMeter* meter, std::size_t layer, double TabularWork::Layer::*flops,
                 const Tensor& x, int axis, std::int64_t unit, Body&& body) {
  if (meter == nullptr) return body(x, std::int64_t{0}, x.size(axis));
  return meter->in_pieces(meter->layer(layer).*flops, x, axis, unit, body);
}

// The target's token of tokens (tables, rows, columns, width).
Tensor target_token(const Tensor& tokens) {
  return autograd::contiguous(autograd::slice(tokens, 2, 0, 1));
}

}  // namespace

TabularTransformer::TabularTransformer(const TabularConfig& config, const Placement& placement)
    : config_((config.check(), config)),
      encoder_(add_parameter("encoder", Tensor::empty({config.width, config.inputs().width()},
                                                      placement.dtype, placement.device))) {
  Generator& generator =
      placement.generator != nullptr ? *placement.generator : nn::default_generator();
  init_encoder(autograd::detach(encoder_), config.inputs(), generator);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_shared<TabularLayer>(config, placement));
    add_module(fmt::format("layers.{}", i), layers_.back());
  }
  if (config.pre_norm) {
    last_norm_ = std::make_shared<TabularNorm>(config.width, false, placement);
    add_module("norm", last_norm_);
  }
  if (config.decoder == TabularDecoder::retrieval) {
    retrieval_ = std::make_shared<RetrievalDecoder>(config.width, config.heads, placement);
    add_module("decoder", retrieval_);
  } else {
    decoder_in_ = std::make_shared<Linear>(config.width, config.hidden, true, placement);
    decoder_out_ = std::make_shared<Linear>(config.hidden, config.outputs(), true, placement);
    add_module("decoder.in", decoder_in_);
    add_module("decoder.out", decoder_out_);
  }
  if (config.is_regression()) {
    borders_ = &add_buffer("borders", initial_borders(config.bins, placement.device));
  }
}

TabularNorm& TabularTransformer::norm_after(std::size_t layer, std::size_t position) const {
  if (!config_.pre_norm) return *layers_[layer]->norms[position];
  if (position < 2) return *layers_[layer]->norms[position + 1];
  return layer + 1 < layers_.size() ? *layers_[layer + 1]->norms[0] : *last_norm_;
}

// Attention between the columns of tokens, or of the encoder's inputs if the first layer is fused.
Tensor TabularTransformer::among_columns(std::size_t i, const Tensor& read,
                                         const Tensor& n_columns) {
  TabularAttention& attention = *layers_[i]->columns;
  if (i + 1 == layers_.size() &&
      !config_.mean_readout) {  // only the target's token is read afterwards
    return attention.project(attention.target_among_columns(read, n_columns));
  }
  const Tensor* encoder = i == 0 && config_.fuses_encoder() ? &encoder_ : nullptr;
  return attention.project(attention.among_columns(read, n_columns, encoder));
}

Tensor TabularTransformer::run(const Tensor& inputs, const Tensor& sizes, const TableContext* from,
                               TableContext* into, WorkMeter* meter) {
  const Pass pass{inputs,
                  count_tokens(config_.inputs(), sizes, inputs.size(1)),
                  (from != nullptr ? from->sizes : sizes).select(1, 2) + Scalar(config_.thinking),
                  from,
                  into,
                  meter};
  const Tensor tokens = autograd::linear(inputs, encoder_);
  Residual residual{tokens, config_.pre_norm ? layers_[0]->norms[0]->forward(tokens) : tokens};
  const bool recomputes = recomputes_ && from == nullptr && into == nullptr;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    residual = recomputes ? run_layer_recomputed(i, residual, pass) : run_layer(i, residual, pass);
  }
  return residual.read;
}

Residual TabularTransformer::run_layer_recomputed(std::size_t i, const Residual& residual,
                                                  const Pass& pass) {
  const auto block = [this, i, pass](const std::vector<Tensor>& given) {
    const Residual made = run_layer(i, {given.front(), given.back()}, pass);
    return config_.pre_norm ? std::vector{made.x, made.read} : std::vector{made.x};
  };
  const std::vector<Tensor> results = autograd::checkpoint(
      block, config_.pre_norm ? std::vector{residual.x, residual.read} : std::vector{residual.x});
  return {results.front(), results.back()};
}

Tensor TabularTransformer::columns_branch(std::size_t i, const Residual& residual,
                                          const Pass& pass) {
  const bool reads_inputs = i == 0 && config_.fuses_encoder();
  return in_pieces(
      pass.meter, i, &TabularWork::Layer::columns, reads_inputs ? pass.inputs : residual.read, 1, 1,
      [&](const Tensor& rows, std::int64_t begin, std::int64_t end) {
        const bool all = end - begin == pass.inputs.size(1);
        return among_columns(i, rows, all ? pass.n_columns : pass.n_columns.slice(0, begin, end));
      });
}

std::optional<Tensor> TabularTransformer::rows_branch(std::size_t i, const Residual& residual,
                                                      const Pass& pass) {
  TabularAttention& attention = *layers_[i]->rows;
  if (pass.from != nullptr) {
    return attention.project(in_pieces(pass.meter, i, &TabularWork::Layer::rows, residual.read, 1,
                                       1, [&](const Tensor& rows, std::int64_t, std::int64_t) {
                                         return attention.among_context(rows, pass.from->layers[i],
                                                                        pass.n_context);
                                       }));
  }
  const bool ends_here = i + 1 == layers_.size() && pass.into != nullptr && retrieval_ == nullptr;
  const Tensor heads = in_pieces(pass.meter, i, &TabularWork::Layer::projections, residual.read, 1,
                                 1, [&](const Tensor& rows, std::int64_t, std::int64_t) {
                                   return ends_here ? attention.keys_and_values(rows)
                                                    : attention.project_qkv(rows, pass.n_context);
                                 });
  if (pass.into != nullptr) {
    pass.into->layers.push_back(ends_here ? heads : heads.slice(3, 1).contiguous());
  }
  if (ends_here) return std::nullopt;
  return attention.project(in_pieces(pass.meter, i, &TabularWork::Layer::rows, heads, 2,
                                     config_.heads,
                                     [&](const Tensor& columns, std::int64_t, std::int64_t) {
                                       return attention.among_rows(columns, pass.n_context);
                                     }));
}

Tensor TabularTransformer::mlp_branch(std::size_t i, const Residual& residual, const Pass& pass) {
  return in_pieces(pass.meter, i, &TabularWork::Layer::mlp, residual.read, 1, 1,
                   [&](const Tensor& rows, std::int64_t, std::int64_t) {
                     return layers_[i]->mlp->forward(rows);
                   });
}

Residual TabularTransformer::run_layer(std::size_t i, Residual residual, const Pass& pass) {
  const bool ends_with_target = i + 1 == layers_.size() && !config_.mean_readout;
  for (std::size_t position = 0; position < 3; ++position) {
    Tensor branch;
    switch (kOrders[static_cast<std::size_t>(config_.layer_order)][position]) {
      case Branch::columns:
        branch = columns_branch(i, residual, pass);
        if (ends_with_target) residual.x = target_token(residual.x);
        break;
      case Branch::rows: {
        const std::optional<Tensor> made = rows_branch(i, residual, pass);
        if (!made.has_value()) return residual;  // the context's keys and values are all there
        branch = *made;
        break;
      }
      case Branch::mlp: branch = mlp_branch(i, residual, pass); break;
    }
    if (position == 0 && config_.residual_decay != 1 && i > 0) {
      residual.x =
          autograd::multiply(residual.x, std::pow(config_.residual_decay, static_cast<double>(i)));
    }
    residual = norm_after(i, position).add_residual(branch, residual.x);
  }
  return residual;
}

Tensor TabularTransformer::read_out(const Tensor& x, const Tensor& sizes) const {
  if (config_.mean_readout) {  // without padding
    const Tensor place = arange(0, x.size(2), 1, DType::i64, x.device());
    const Tensor n_tokens = feature_tokens(config_.inputs(), sizes.slice(1, 1, 2));
    const Tensor is_feature =
        compare(CompareOp::greater, place, 0) * compare(CompareOp::less_equal, place, n_tokens);
    const Tensor share =
        is_feature.to(DType::f32) / binary(BinaryOp::maximum, n_tokens, Scalar(1)).to(DType::f32);
    return autograd::sum(
        autograd::multiply(x, share.to(x.dtype()).reshape({x.size(0), 1, x.size(2), 1})), {2});
  }
  return autograd::squeeze(x, 2);
}

Tensor TabularTransformer::decode(const Tensor& read, const TableContext& context,
                                  std::int64_t n_classes) {
  if (retrieval_ != nullptr) {
    return retrieval_->logits(read, *context.keys, context.y, context.sizes.select(1, 2),
                              n_classes);
  }
  return autograd::mlp(read, decoder_in_->weight, *decoder_in_->bias, decoder_out_->weight,
                       *decoder_out_->bias);
}

Tensor TabularTransformer::forward_tables(const Tables& tables, const TableStatistics& statistics) {
  const Tensor x = run(encoder_inputs(config_.inputs(), tables, statistics, true, encoder_.dtype()),
                       tables.sizes, nullptr, nullptr, nullptr);
  const Tensor read = read_out(autograd::slice(x, 1, config_.thinking), tables.sizes);
  TableContext context{tables.sizes, statistics, tables.y, {}, {}};
  if (retrieval_ != nullptr) context.keys = retrieval_->keys(read);
  return decode(read, context, config_.outputs());
}

Tensor TabularTransformer::logits(const Tables& tables) {
  require_tables(tables, encoder_);
  return forward_tables(tables, measure_tables(config_.inputs(), tables));
}

Tensor TabularTransformer::loss(const Tables& tables) {
  require_tables(tables, encoder_);
  const TableStatistics statistics = measure_tables(config_.inputs(), tables);
  const Tensor targets = Tensor::empty(tables.y.shape(), DType::i64, tables.y.device());
  const StreamView stream = current_stream(tables.y.device());
  kernels::table_targets(stream, operand(tables.y, stream), operand(tables.sizes, stream),
                         operand(statistics.moments, stream),
                         borders_ != nullptr ? operand(*borders_, stream) : kernels::Operand(),
                         operand(targets, stream));
  autograd::CrossEntropyOptions each;
  each.reduction = autograd::Reduction::none;
  const Tensor losses = autograd::cross_entropy(forward_tables(tables, statistics), targets, each);
  const Tensor n_query =
      (tables.sizes.slice(1, 0, 1) - tables.sizes.slice(1, 2, 3)).to(losses.dtype());
  const Tensor shares =
      binary(BinaryOp::maximum, n_query * static_cast<double>(n_query.size(0)), Scalar(1.0));
  return autograd::sum(autograd::divide(losses, shares));
}

TableContext TabularTransformer::encode_context(const Tables& tables,
                                                const ProgressHook& progress) {
  require_tables(tables, encoder_);
  const autograd::NoGrad no_grad;
  TableContext context{tables.sizes, measure_tables(config_.inputs(), tables), tables.y, {}, {}};
  WorkMeter meter(TabularWork::of_context(config_, tables.x.size(1), tables.x.size(2)),
                  tables.x.size(0), progress);
  const Tensor x =
      run(encoder_inputs(config_.inputs(), tables, context.statistics, true, encoder_.dtype()),
          tables.sizes, nullptr, &context, &meter);
  if (retrieval_ != nullptr) {
    context.keys = retrieval_->keys(read_out(x.slice(1, config_.thinking), tables.sizes));
  }
  return context;
}

Tensor TabularTransformer::embed(const TableContext& context, const Tensor& x,
                                 const ProgressHook& progress) {
  const std::int64_t n_tables = context.sizes.size(0);
  const std::int64_t n_features = context.statistics.moments.size(1) - 1;
  if (x.n_dims() != 3 || x.size(0) != n_tables || x.size(2) != n_features) {
    fail(ErrorKind::shape_mismatch, "tabular transformer",
         fmt::format("query rows {}: expected ({}, rows, {}), to match the context",
                     to_string(x.shape()), n_tables, n_features));
  }
  const autograd::NoGrad no_grad;
  const std::vector<Tensor> sizes = {full({n_tables, 1}, x.size(1), DType::i64, x.device()),
                                     context.sizes.slice(1, 1, 2),
                                     zeros({n_tables, 1}, DType::i64, x.device())};
  const Tables query{x, zeros({n_tables, x.size(1)}, DType::f32, x.device()),
                     concatenate(sizes, 1)};
  require_tables(query, encoder_);
  const std::int64_t n_context = context.layers.front().size(1) - config_.thinking;
  WorkMeter meter(TabularWork::of_query(config_, x.size(1), n_features, n_context), n_tables,
                  progress);
  const Tensor numbers =
      encoder_inputs(config_.inputs(), query, context.statistics, false, encoder_.dtype());
  return read_out(run(numbers, query.sizes, &context, nullptr, &meter), query.sizes);
}

Tensor TabularTransformer::predict_logits(const TableContext& context, const Tensor& x,
                                          const ProgressHook& progress, std::int64_t n_classes) {
  if (retrieval_ == nullptr || n_classes == 0) n_classes = config_.outputs();
  const Tensor read = embed(context, x, progress);
  const autograd::NoGrad no_grad;
  return decode(read, context, n_classes);
}

std::vector<double> TabularTransformer::centres() const {
  if (borders_ == nullptr) return {};
  std::vector<double> centres;
  double below = 0;  // cumulative probability and density at the lower border
  double density = 0;
  const auto add = [&](double share, double next_density) {
    centres.push_back(kSpread * (density - next_density) / (share - below));
    below = share;
    density = next_density;
  };
  for (const float border : borders_->to(Device::cpu()).to_vector<float>()) {
    add(normal_cdf(border / kSpread), normal_density(border / kSpread));
  }
  add(1, 0);
  return centres;
}

std::vector<Tensor> TabularTransformer::matrices() const {
  std::vector<Tensor> found;
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.n_dims() == 2 && name.starts_with("layers.")) found.push_back(parameter);
  }
  return found;
}

std::vector<Tensor> TabularTransformer::others() const {
  std::vector<Tensor> found;
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.n_dims() != 2 || !name.starts_with("layers.")) found.push_back(parameter);
  }
  return found;
}

}  // namespace causeway::models
