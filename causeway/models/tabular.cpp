#include "causeway/models/tabular.h"

#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace causeway::models {

namespace {

using nn::Linear;
using nn::Placement;

// A numeric target is binned as if it were normal, but wider, so that tails have bins too.
constexpr double kSpread = 1.5;

double normal_share(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double normal_density(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// The standard normal's quantile, by bisection.
double normal_quantile(double share) {
  double low = -10;
  double high = 10;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (normal_share(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

Tensor first_borders(std::int64_t bins, Device device) {
  std::vector<float> borders;
  for (std::int64_t i = 1; i < bins; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(bins);
    borders.push_back(static_cast<float>(kSpread * normal_quantile(share)));
  }
  return Tensor::from<float>(borders, {bins - 1}, device);
}

// As two linear layers with biases would be drawn, one of features and one of targets.
void draw_encoder(const Tensor& weight, const kernels::TableInputs& inputs, Generator& generator) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs.group));
  nn::fill_(weight, 0);
  nn::uniform_(weight.slice(1, 0, inputs.target()), -bound, bound, generator);
  nn::uniform_(weight.slice(1, inputs.target(), inputs.used()), -1, 1, generator);
}

// How many columns every row of each table has, the target among them.
Tensor count_columns(const Tensor& sizes, std::int64_t n_rows) {
  const Tensor counts = sizes.slice(1, 1, 2) + Scalar(1);
  return counts.expand({sizes.size(0), n_rows}).contiguous().flatten();
}

// Of tokens (tables, rows, columns, width) the target's.
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
  draw_encoder(autograd::detach(encoder_), config.inputs(), generator);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_shared<TabularLayer>(
        config.width, config.heads, config.hidden, config.projection, config.pre_norm, placement));
    add_module(fmt::format("layers.{}", i), layers_.back());
  }
  if (config.pre_norm) {
    last_norm_ = std::make_shared<TabularNorm>(config.width, false, placement);
    add_module("norm", last_norm_);
  }
  decoder_in_ = std::make_shared<Linear>(config.width, config.hidden, true, placement);
  decoder_out_ = std::make_shared<Linear>(config.hidden, config.outputs(), true, placement);
  add_module("decoder.in", decoder_in_);
  add_module("decoder.out", decoder_out_);
  if (config.is_regression()) {
    borders_ = &add_buffer("borders", first_borders(config.bins, placement.device));
  }
}

void TabularTransformer::check(const Tables& tables) const {
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
  for (const Tensor* tensor : {&y, &sizes, &std::as_const(encoder_)}) {
    require_same_device("tabular transformer", x, *tensor);
  }
  if (x.device() != Device::cpu()) return;  // looking would wait
  const auto* size = sizes.data_as<std::int64_t>();
  for (std::int64_t table = 0; table < x.size(0); ++table, size += 3) {
    const bool fits = size[0] >= 0 && size[0] <= x.size(1) && size[1] >= 0 &&
                      size[1] <= x.size(2) && size[2] >= 0 && size[2] <= size[0];
    if (fits) continue;
    fail(ErrorKind::invalid_argument, "tabular transformer",
         fmt::format("table {} says it has {} rows, {} features and {} known rows; the batch has "
                     "room for {} rows and {} features",
                     table, size[0], size[1], size[2], x.size(1), x.size(2)));
  }
}

Tensor TabularTransformer::statistics_of(const Tables& tables) const {
  Tensor statistics =
      Tensor::empty({tables.x.size(0), tables.x.size(2) + 1, 2}, DType::f32, tables.x.device());
  const StreamView stream = current_stream(tables.x.device());
  kernels::table_statistics(stream, operand(tables.x, stream), operand(tables.y, stream),
                            operand(tables.sizes, stream), operand(statistics, stream));
  return statistics;
}

Tensor TabularTransformer::numbers_of(const Tables& tables, const Tensor& statistics,
                                      bool with_thinking) const {
  const kernels::TableInputs inputs = config_.inputs();
  const std::int64_t rows = tables.x.size(1) + (with_thinking ? config_.thinking : 0);
  const Tensor numbers =
      Tensor::empty({tables.x.size(0), rows, tables.x.size(2) + 1, inputs.width()},
                    encoder_.dtype(), tables.x.device());
  const StreamView stream = current_stream(tables.x.device());
  kernels::table_inputs(stream, inputs, operand(tables.x, stream), operand(tables.y, stream),
                        operand(tables.sizes, stream), operand(statistics, stream),
                        operand(numbers, stream));
  return numbers;
}

TabularNorm& TabularTransformer::norm_behind(std::size_t layer, std::size_t branch) const {
  if (!config_.pre_norm) return *layers_[layer]->norms[branch];
  if (branch < 2) return *layers_[layer]->norms[branch + 1];
  return layer + 1 < layers_.size() ? *layers_[layer + 1]->norms[0] : *last_norm_;
}

Tensor TabularTransformer::run(const Tensor& numbers, const Tensor& sizes, const TableContext* from,
                               TableContext* into) {
  const Tensor n_columns = count_columns(sizes, numbers.size(1));
  const Tensor n_known =
      (from != nullptr ? from->sizes : sizes).select(1, 2) + Scalar(config_.thinking);
  const Tensor tokens = autograd::linear(numbers, encoder_);
  Stream stream{tokens, config_.pre_norm ? layers_[0]->norms[0]->forward(tokens) : tokens};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    TabularLayer& layer = *layers_[i];
    const bool is_last = i + 1 == layers_.size();
    Tensor branch;
    if (is_last && !config_.mean_readout) {  // nobody reads another column's token any more
      branch = layer.columns->target_among_columns(stream.read, n_columns);
      stream.x = target_token(stream.x);
    } else if (i == 0 && config_.joins_encoder()) {
      branch = layer.columns->among_columns(numbers, n_columns, &encoder_);
    } else {
      branch = layer.columns->among_columns(stream.read, n_columns);
    }
    if (config_.residual_decay != 1 && i > 0) {
      stream.x =
          autograd::multiply(stream.x, std::pow(config_.residual_decay, static_cast<double>(i)));
    }
    stream = norm_behind(i, 0).take_in(layer.columns->project(branch), stream.x);

    if (from != nullptr) {
      branch = layer.rows->among_kept(stream.read, from->layers[i], n_known);
    } else if (is_last && into != nullptr) {
      into->layers.push_back(layer.rows->keys_and_values(stream.read));
      return stream.read;
    } else {
      const Tensor heads = layer.rows->split(stream.read);
      if (into != nullptr) into->layers.push_back(heads.slice(3, 1).contiguous());
      branch = layer.rows->among_rows(heads, n_known);
    }
    stream = norm_behind(i, 1).take_in(layer.rows->project(branch), stream.x);
    stream = norm_behind(i, 2).take_in(layer.mlp->forward(stream.read), stream.x);
  }
  return stream.read;
}

Tensor TabularTransformer::read_out(const Tensor& x, const Tensor& sizes) {
  Tensor read;
  if (config_.mean_readout) {  // of the features there are
    const Tensor place = arange(0, x.size(2), 1, DType::i64, x.device());
    const Tensor n_features = sizes.slice(1, 1, 2);
    const Tensor is_feature =
        compare(CompareOp::greater, place, 0) * compare(CompareOp::less_equal, place, n_features);
    const Tensor share =
        is_feature.to(DType::f32) / binary(BinaryOp::maximum, n_features, Scalar(1)).to(DType::f32);
    read = autograd::sum(
        autograd::multiply(x, share.to(x.dtype()).reshape({x.size(0), 1, x.size(2), 1})), {2});
  } else {
    read = autograd::squeeze(x, 2);
  }
  return autograd::mlp(read, decoder_in_->weight, *decoder_in_->bias, decoder_out_->weight,
                       *decoder_out_->bias);
}

Tensor TabularTransformer::say(const Tables& tables, const Tensor& statistics) {
  const Tensor x = run(numbers_of(tables, statistics, true), tables.sizes, nullptr, nullptr);
  return read_out(autograd::slice(x, 1, config_.thinking), tables.sizes);
}

Tensor TabularTransformer::logits(const Tables& tables) {
  check(tables);
  return say(tables, statistics_of(tables));
}

Tensor TabularTransformer::loss(const Tables& tables) {
  check(tables);
  const Tensor statistics = statistics_of(tables);
  const Tensor targets = Tensor::empty(tables.y.shape(), DType::i64, tables.y.device());
  const StreamView stream = current_stream(tables.y.device());
  kernels::table_targets(stream, operand(tables.y, stream), operand(tables.sizes, stream),
                         operand(statistics, stream),
                         borders_ != nullptr ? operand(*borders_, stream) : kernels::Operand(),
                         operand(targets, stream));
  autograd::CrossEntropyOptions each;
  each.reduction = autograd::Reduction::none;
  const Tensor losses = autograd::cross_entropy(say(tables, statistics), targets, each);
  const Tensor told =
      (tables.sizes.slice(1, 0, 1) - tables.sizes.slice(1, 2, 3)).to(losses.dtype());
  const Tensor shares =
      binary(BinaryOp::maximum, told * static_cast<double>(told.size(0)), Scalar(1.0));
  return autograd::sum(autograd::divide(losses, shares));
}

TableContext TabularTransformer::remember(const Tables& tables) {
  check(tables);
  const autograd::NoGrad no_grad;
  TableContext context{tables.sizes, statistics_of(tables), {}};
  run(numbers_of(tables, context.statistics, true), tables.sizes, nullptr, &context);
  return context;
}

Tensor TabularTransformer::tell(const TableContext& context, const Tensor& x) {
  const std::int64_t n_tables = context.sizes.size(0);
  const std::int64_t n_features = context.statistics.size(1) - 1;
  if (x.n_dims() != 3 || x.size(0) != n_tables || x.size(2) != n_features) {
    fail(ErrorKind::shape_mismatch, "tabular transformer",
         fmt::format("rows {} to tell: expected ({}, rows, {}), as in the tables remembered",
                     to_string(x.shape()), n_tables, n_features));
  }
  const autograd::NoGrad no_grad;
  const std::vector<Tensor> sizes = {full({n_tables, 1}, x.size(1), DType::i64, x.device()),
                                     context.sizes.slice(1, 1, 2),
                                     zeros({n_tables, 1}, DType::i64, x.device())};
  const Tables asked{x, zeros({n_tables, x.size(1)}, DType::f32, x.device()),
                     concatenate(sizes, 1)};
  check(asked);
  const Tensor numbers = numbers_of(asked, context.statistics, false);
  return read_out(run(numbers, asked.sizes, &context, nullptr), asked.sizes);
}

std::vector<double> TabularTransformer::centres() const {
  if (borders_ == nullptr) return {};
  std::vector<double> centres;
  double below = 0;  // the share, and the density, where the bin begins
  double density = 0;
  const auto add = [&](double share, double next_density) {
    centres.push_back(kSpread * (density - next_density) / (share - below));
    below = share;
    density = next_density;
  };
  for (const float border : borders_->to(Device::cpu()).to_vector<float>()) {
    add(normal_share(border / kSpread), normal_density(border / kSpread));
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
