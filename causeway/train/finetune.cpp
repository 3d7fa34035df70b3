#include "causeway/train/finetune.h"

#include "causeway/core/error.h"
#include "causeway/optim/optimizer.h"
#include "causeway/tables/split.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace causeway::train {

namespace {

using models::TabularPredictor;
using models::TabularTransformer;

constexpr const char* kName = "finetune";
constexpr std::int64_t kFewestRows = 20;

class Finetuning {
 public:
  Finetuning(const TabularPredictor& predictor, const FinetuneOptions& options)
      : options_(options),
        settings_(predictor.options()),
        state_(predictor.state()),
        features_(predictor.features()),
        generator_(predictor.options().seed) {
    state_.x = predictor.read(state_.x);
    const TabularTransformer& given = *predictor.model();
    const Device device = given.parameters().front().device();
    model_ = std::make_shared<TabularTransformer>(given.config(),
                                                  nn::Placement{DType::f32, device, nullptr});
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : given.state()) weights.emplace(name, tensor.to(DType::f32));
    model_->load_state(weights);
    split(predictor);
    settings_.temperature = 1;
    settings_.member_weights = models::MemberWeights::equal;
    settings_.n_estimators = 1;
  }

  Finetuned run(const models::ProgressHook& progress) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count() / options_.seconds;
    };
    Finetuned best{weights(), held_out_loss(), 0, 0};
    best.loss_after = best.loss_before;
    optim::Optimizer optimizer({.learning_rate = options_.learning_rate, .max_norm = 1});
    optimizer.add_group(model_->parameters(), {.weight_decay = 0.01});
    std::int64_t n_steps = 0;
    std::int64_t check = 8;  // the next step after which the held-out rows are predicted
    while (passed() < 1 && n_steps < options_.max_steps) {
      optimizer.zero_grad();
      autograd::backward(model_->loss(draw()));
      optimizer.step();
      ++n_steps;
      if (progress) progress(std::min(passed(), 1.0));
      if (n_steps < check && n_steps < options_.max_steps && passed() < 1) continue;
      check += std::max<std::int64_t>(8, check / 4);
      const double loss = held_out_loss();
      if (loss < best.loss_after) {
        best.weights = weights();
        best.loss_after = loss;
      }
    }
    best.n_steps = n_steps;
    return best;
  }

 private:
  void split(const TabularPredictor& predictor) {
    const std::int64_t n_rows = state_.y.size(0);
    if (n_rows < kFewestRows) {
      fail(ErrorKind::invalid_argument, kName,
           fmt::format("{} context rows; expected at least {}", n_rows, kFewestRows));
    }
    const models::TabularConfig& config = model_->config();
    if (!predictor.is_regression() && state_.n_classes > config.classes) {
      fail(ErrorKind::invalid_argument, kName,
           fmt::format("the target has {} classes, but the model was trained with at most {}",
                       state_.n_classes, config.classes));
    }
    const auto strata = predictor.is_regression()
                            ? std::vector<std::int64_t>(static_cast<std::size_t>(n_rows), 0)
                            : state_.y.to(DType::i64).to_vector<std::int64_t>();
    const auto kept = tables::stratified_sample(strata, n_rows * 4 / 5, generator_);
    std::vector<std::int64_t> held;
    for (std::int64_t row = 0; row < n_rows; ++row) {
      if (!std::binary_search(kept.begin(), kept.end(), row)) held.push_back(row);
    }
    const auto select = [](const Tensor& x, const std::vector<std::int64_t>& rows) {
      return index_select(x, 0, Tensor::from<std::int64_t>(rows, {std::ssize(rows)}));
    };
    x_ = select(state_.x, kept);
    y_ = select(state_.y, kept);
    held_x_ = select(state_.x, held);
    held_y_ = select(state_.y, held).to_vector<double>();
    for (std::int64_t i = 0; i < x_.size(1); ++i) {
      transforms_.emplace_back(models::Transform::none, models::column_values(x_, i));
      if (!transforms_.back().is_constant()) columns_.push_back(i);
    }
    if (columns_.empty()) columns_.push_back(0);
  }

  // A table of random rows, of which random ones are context rows.
  models::Tables draw() {
    const std::int64_t n_rows = std::min(x_.size(0), options_.max_rows);
    const std::int64_t n_columns =
        std::min<std::int64_t>(std::ssize(columns_), settings_.max_features);
    const auto rows = generator_.permutation(x_.size(0)).to_vector<std::int64_t>();
    const auto order = generator_.permutation(std::ssize(columns_)).to_vector<std::int64_t>();
    const double share = generator_.uniform({1}, 0.5, 0.9, DType::f64).item();
    const auto n_context =
        std::clamp<std::int64_t>(std::llround(share * static_cast<double>(n_rows)), 1, n_rows - 1);
    const std::int64_t shift =
        state_.n_classes > 0 ? generator_.integers({1}, 0, state_.n_classes).item_integer() : 0;
    const Tensor x = Tensor::empty({1, n_rows, n_columns}, DType::f32);
    const Tensor y = Tensor::empty({1, n_rows}, DType::f32);
    auto* to = x.data_as<float>();
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      for (std::int64_t k = 0; k < n_columns; ++k) {
        const std::int64_t column =
            columns_[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])];
        const double value = x_.data_as<double>()[row * x_.size(1) + column];
        *to++ = static_cast<float>(transforms_[static_cast<std::size_t>(column)](value));
      }
      const double target = y_.data_as<double>()[row];
      y.data_as<float>()[i] =
          static_cast<float>(state_.n_classes > 0 ? std::fmod(target + static_cast<double>(shift),
                                                              static_cast<double>(state_.n_classes))
                                                  : target);
    }
    const std::vector<std::int64_t> sizes = {n_rows, n_columns, n_context};
    const Device device = model_->parameters().front().device();
    return {x.to(device), y.to(device), Tensor::from<std::int64_t>(sizes, {1, 3}, device)};
  }

  std::map<std::string, Tensor> weights() const {
    std::map<std::string, Tensor> copied;
    for (const auto& [name, tensor] : model_->state()) {
      copied.emplace(name, tensor.to(Device::cpu()).clone());
    }
    return copied;
  }

  double held_out_loss() const {
    TabularPredictor predictor(model_, settings_);
    predictor.fit(x_, y_, state_.n_classes, features_);
    std::vector<double> edges;
    Tensor p;
    if (predictor.is_regression()) {
      const models::TargetDistribution made = predictor.predict_distribution(held_x_);
      edges = made.edges;
      p = made.probabilities;
    } else {
      p = predictor.predict_proba(held_x_);
    }
    double sum = 0;
    for (std::size_t row = 0; row < held_y_.size(); ++row) {
      const auto output = edges.empty()
                              ? static_cast<std::int64_t>(held_y_[row])
                              : std::upper_bound(edges.begin() + 1, edges.end() - 1, held_y_[row]) -
                                    edges.begin() - 1;
      const double* of_row = p.data_as<double>() + static_cast<std::int64_t>(row) * p.size(1);
      sum -= std::log(std::max(of_row[output], 1e-12));
    }
    return sum / static_cast<double>(held_y_.size());
  }

  FinetuneOptions options_;
  models::PredictorOptions settings_;
  TabularPredictor::State state_;
  tables::Features features_;
  Generator generator_;
  std::shared_ptr<TabularTransformer> model_;
  Tensor x_;
  Tensor y_;
  Tensor held_x_;
  std::vector<double> held_y_;
  std::vector<std::int64_t> columns_;  // those that are not constant
  std::vector<models::ColumnTransform> transforms_;
};

}  // namespace

Finetuned finetune(const models::TabularPredictor& predictor, const FinetuneOptions& options,
                   const models::ProgressHook& progress) {
  if (!(options.seconds > 0 && options.learning_rate > 0)) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("seconds {} and learning rate {}: expected positive numbers", options.seconds,
                     options.learning_rate));
  }
  return Finetuning(predictor, options).run(progress);
}

}  // namespace causeway::train
