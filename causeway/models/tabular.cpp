#include "causeway/models/tabular.h"

#include "causeway/autograd/indexing.h"
#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/operand.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::models {

namespace {

using nn::Linear;
using nn::Placement;

// The standard normal's quantile, by bisection: exact enough for borders that are drawn once.
double normal_quantile(double share) {
  double low = -10;
  double high = 10;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Bins that a normal target would fill evenly, half again as wide, so that tails have some too.
std::vector<float> border_values(std::int64_t bins) {
  std::vector<float> borders;
  for (std::int64_t i = 1; i < bins; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(bins);
    borders.push_back(static_cast<float>(1.5 * normal_quantile(share)));
  }
  return borders;
}

// What a linear layer without weights for a constant would be drawn from.
void draw_encoder(const Tensor& weight, const kernels::TableInputs& inputs, Generator& generator) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs.group));
  nn::fill_(weight, 0);
  nn::uniform_(weight.slice(1, 0, inputs.feature() + 1), -bound, bound, generator);
  nn::uniform_(weight.slice(1, inputs.target(), inputs.used()), -1, 1, generator);
}

// How many columns every row of each table has, the target among them.
Tensor count_columns(const Tensor& sizes, std::int64_t n_rows) {
  const Tensor counts = sizes.slice(1, 1, 2) + Scalar(1);
  return counts.expand({sizes.size(0), n_rows}).contiguous().reshape({-1});
}

std::optional<Tensor> maybe(const Tensor* x) {
  if (x == nullptr) return std::nullopt;
  return *x;
}

}  // namespace

// One norm of either kind, which also takes a branch into the stream before it.
class Norm : public nn::Module {
 public:
  Norm(std::int64_t width, bool with_mean, const Placement& placement)
      : weight_(add_parameter("weight", full({width}, 1, placement.dtype, placement.device))),
        bias_(with_mean
                  ? &add_parameter("bias", full({width}, 0, placement.dtype, placement.device))
                  : nullptr) {}

  Tensor forward(const Tensor& x) override {
    return bias_ != nullptr ? autograd::layer_norm(x, weight_, *bias_)
                            : autograd::rms_norm(x, weight_);
  }
  autograd::AddNorm add(const Tensor& branch, const Tensor& stream) {
    const auto op = bias_ != nullptr ? autograd::NormOp::layer : autograd::NormOp::rms;
    return autograd::add_norm(op, branch, stream, weight_, maybe(bias_));
  }

 private:
  Tensor& weight_;
  Tensor* bias_;
};

// Attention's two projections. The first gives q, k and v of one head after the other.
class Heads : public nn::Module {
 public:
  Heads(const TabularConfig& config, const Placement& placement)
      : qkv_(std::make_shared<Linear>(config.width, 3 * config.width, config.projection,
                                      placement)) {
    add_module("qkv", qkv_);
    if (!config.projection) return;
    projection_ = std::make_shared<Linear>(config.width, config.width, true, placement);
    add_module("projection", projection_);
  }

  // (…, width) to `shape`, which ends in (heads, 3, size).
  Tensor split(const Tensor& x, const Shape& shape) {
    return autograd::reshape(qkv_->forward(x), shape);
  }
  // Back from (…, heads, size) of any grouping to `like`'s shape.
  Tensor join(const Tensor& heads, const Shape& like) {
    const Tensor flat = autograd::reshape(heads, like);
    return projection_ == nullptr ? flat : projection_->forward(flat);
  }

 private:
  std::shared_ptr<Linear> qkv_;
  std::shared_ptr<Linear> projection_;
};

class TabularTransformer::Layer : public nn::Module {
 public:
  Layer(const TabularConfig& config, const Placement& placement)
      : columns(std::make_shared<Heads>(config, placement)),
        rows(std::make_shared<Heads>(config, placement)),
        mlp(std::make_shared<nn::Mlp>(config.width, config.hidden, placement)) {
    add_module("columns", columns);
    add_module("rows", rows);
    add_module("mlp", mlp);
    for (int i = 0; i < 3; ++i) {
      norms.push_back(std::make_shared<Norm>(config.width, !config.pre_norm, placement));
      add_module(fmt::format("norm{}", i + 1), norms.back());
    }
  }

  std::shared_ptr<Heads> columns;
  std::shared_ptr<Heads> rows;
  std::shared_ptr<nn::Mlp> mlp;
  std::vector<std::shared_ptr<Norm>> norms;
};

TabularTransformer::TabularTransformer(const TabularConfig& config, const Placement& placement)
    : config_((config.check(), config)),
      encoder_(add_parameter("encoder", Tensor::empty({config.width, config.inputs().width()},
                                                      placement.dtype, placement.device))) {
  Generator& generator =
      placement.generator != nullptr ? *placement.generator : nn::default_generator();
  draw_encoder(autograd::detach(encoder_), config.inputs(), generator);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_shared<Layer>(config, placement));
    add_module(fmt::format("layers.{}", i), layers_.back());
  }
  if (config.pre_norm) {
    last_norm_ = std::make_shared<nn::RmsNorm>(config.width, 1e-5, placement);
    add_module("norm", last_norm_);
  }
  decoder_in_ = std::make_shared<Linear>(config.width, config.hidden, true, placement);
  decoder_out_ = std::make_shared<Linear>(config.hidden, config.outputs(), true, placement);
  add_module("decoder.in", decoder_in_);
  add_module("decoder.out", decoder_out_);
  if (config.is_regression()) {
    const std::vector<float> borders = border_values(config.bins);
    borders_ =
        &add_buffer("borders", Tensor::from<float>(borders, {config.bins - 1}, placement.device));
  }
}

Tensor TabularTransformer::statistics_of(const Tables& tables) const {
  const Tensor statistics =
      Tensor::empty({tables.x.size(0), tables.x.size(2) + 1, 2}, DType::f32, tables.x.device());
  const StreamView stream = current_stream(tables.x.device());
  kernels::table_statistics(stream, operand(tables.x, stream), operand(tables.y, stream),
                            operand(tables.sizes, stream), operand(statistics, stream));
  return statistics;
}

Tensor TabularTransformer::embed(const Tables& tables, const Tensor& statistics,
                                 bool with_thinking) {
  const kernels::TableInputs inputs = config_.inputs();
  const std::int64_t rows = tables.x.size(1) + (with_thinking ? config_.thinking : 0);
  const Tensor numbers =
      Tensor::empty({tables.x.size(0), rows, tables.x.size(2) + 1, inputs.width()},
                    encoder_.dtype(), tables.x.device());
  const StreamView stream = current_stream(tables.x.device());
  kernels::table_inputs(stream, inputs, operand(tables.x, stream), operand(tables.y, stream),
                        operand(tables.sizes, stream), operand(statistics, stream),
                        operand(numbers, stream));
  return autograd::linear(numbers, encoder_);
}

Tensor TabularTransformer::run(Tensor x, const Tensor& n_columns, const Tensor& n_known,
                               const TableContext* context, TableContext* kept) {
  autograd::AttentionOptions among_columns;
  among_columns.context = n_columns;
  autograd::AttentionOptions among_rows;
  among_rows.context = n_known;
  const auto width = static_cast<std::int64_t>(config_.width);
  std::optional<Tensor> normed;  // of x, where a norm comes before a branch
  if (config_.pre_norm) normed = layers_.front()->norms[0]->forward(x);
  // The stream with a branch in it, and what the next branch begins with.
  const auto take_in = [&](const Tensor& branch, Norm* next) {
    if (!config_.pre_norm) {
      x = next->add(branch, x).normed;
    } else if (next != nullptr) {
      const autograd::AddNorm both = next->add(branch, x);
      x = both.sum;
      normed = both.normed;
    } else {
      x = autograd::add(x, branch);
    }
  };
  const auto begin = [&] { return config_.pre_norm ? *normed : x; };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = *layers_[i];
    const bool is_last = i + 1 == layers_.size();
    const Shape shape = x.shape();  // (tables, rows, columns, width)
    if (config_.residual_decay != 1 && i > 0) {
      x = autograd::multiply(x, std::pow(config_.residual_decay, static_cast<double>(i)));
    }
    const std::int64_t size = width / config_.heads;
    const Tensor by_row =
        layer.columns->split(begin(), {shape[0] * shape[1], shape[2], config_.heads, 3, size});
    Tensor branch = autograd::reshape(autograd::attention_by_heads(by_row, among_columns), shape);
    if (is_last && !config_.mean_readout) {
      // Nobody reads another column's token any more.
      branch = autograd::contiguous(autograd::slice(branch, 2, 0, 1));
      x = autograd::contiguous(autograd::slice(x, 2, 0, 1));
    }
    take_in(layer.columns->join(branch, x.shape()), layer.norms[config_.pre_norm ? 1 : 0].get());
    const Shape now = x.shape();
    const Tensor by_column =
        layer.rows->split(begin(), {now[0], now[1], now[2] * config_.heads, 3, size});
    if (kept != nullptr) kept->layers.push_back(autograd::detach(by_column));
    Tensor attended;
    if (context == nullptr) {
      attended = autograd::attention_by_heads(by_column, among_rows);
    } else {
      const Tensor& known = context->layers[i];
      const auto part = [](const Tensor& of, int which) {
        return of.select(3, which).transpose(1, 2);
      };
      attended = autograd::attention(part(by_column, 0), part(known, 1), part(known, 2), among_rows)
                     .transpose(1, 2);
    }
    if (is_last && kept != nullptr) return x;  // what follows is for rows to be told
    take_in(layer.rows->join(attended, now), layer.norms[config_.pre_norm ? 2 : 1].get());
    const Tensor made = layer.mlp->forward(begin());
    Norm* next = layer.norms[2].get();
    if (config_.pre_norm) next = is_last ? nullptr : layers_[i + 1]->norms[0].get();
    take_in(made, next);
  }
  return x;
}

Tensor TabularTransformer::read_out(const Tensor& x, const Tensor& sizes) {
  Tensor read;
  if (config_.mean_readout) {  // of the features there are
    const Tensor place = arange(0, x.size(2), 1, DType::i64, x.device());
    const Tensor n_features = sizes.slice(1, 1, 2);
    const Tensor counts = (compare(CompareOp::less_equal, place, n_features).to(DType::f32) *
                           compare(CompareOp::greater, place, 0.0).to(DType::f32)) /
                          n_features.to(DType::f32);
    const Tensor share = counts.to(x.dtype()).reshape({x.size(0), 1, x.size(2), 1});
    read = autograd::sum(autograd::multiply(x, share), {2});
  } else {
    read = autograd::squeeze(x, 2);
  }
  if (last_norm_ != nullptr) read = last_norm_->forward(read);
  return autograd::mlp(read, decoder_in_->weight, *decoder_in_->bias, decoder_out_->weight,
                       *decoder_out_->bias);
}

Tensor TabularTransformer::logits(const Tables& tables) {
  const Tensor statistics = statistics_of(tables);
  const Tensor x = run(embed(tables, statistics, true),
                       count_columns(tables.sizes, tables.x.size(1) + config_.thinking),
                       tables.sizes.select(1, 2) + Scalar(config_.thinking), nullptr, nullptr);
  return read_out(autograd::slice(x, 1, config_.thinking), tables.sizes);
}

Tensor TabularTransformer::loss(const Tables& tables) {
  const Tensor statistics = statistics_of(tables);
  const Tensor targets = Tensor::empty(tables.y.shape(), DType::i64, tables.y.device());
  const StreamView stream = current_stream(tables.y.device());
  kernels::table_targets(stream, operand(tables.y, stream), operand(tables.sizes, stream),
                         operand(statistics, stream),
                         borders_ != nullptr ? operand(*borders_, stream) : kernels::Operand(),
                         operand(targets, stream));
  const Tensor said = logits(tables);
  return autograd::cross_entropy(autograd::reshape(said, {-1, config_.outputs()}),
                                 targets.reshape({-1}));
}

TableContext TabularTransformer::remember(const Tables& known) {
  const autograd::NoGrad no_grad;
  TableContext context{known.sizes, statistics_of(known), {}};
  run(embed(known, context.statistics, true),
      count_columns(known.sizes, known.x.size(1) + config_.thinking),
      known.sizes.select(1, 2) + Scalar(config_.thinking), nullptr, &context);
  return context;
}

Tensor TabularTransformer::tell(const TableContext& context, const Tensor& x) {
  const autograd::NoGrad no_grad;
  const std::int64_t n_tables = x.size(0);
  const Tensor rows = full({n_tables, 1}, x.size(1), DType::i64, x.device());
  const Tensor none = zeros({n_tables, 1}, DType::i64, x.device());
  const std::vector<Tensor> sizes = {rows, context.sizes.slice(1, 1, 2), none};
  const Tables asked{x, zeros({n_tables, x.size(1)}, DType::f32, x.device()),
                     causeway::concatenate(sizes, 1)};
  const Tensor tokens = embed(asked, context.statistics, false);
  const Tensor told = run(tokens, count_columns(asked.sizes, x.size(1)),
                          context.sizes.select(1, 2) + Scalar(config_.thinking), &context, nullptr);
  return read_out(told, asked.sizes);
}

std::vector<double> TabularTransformer::centres() const {
  if (borders_ == nullptr) return {};
  const auto borders = borders_->to(Device::cpu()).to_vector<float>();
  const double first = 1.5 * borders.front();  // the outer bins have no end
  std::vector<double> centres = {first};
  for (std::size_t i = 1; i < borders.size(); ++i)
    centres.push_back((borders[i - 1] + borders[i]) / 2.0);
  centres.push_back(1.5 * borders.back());
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
