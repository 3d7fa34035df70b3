#include "causeway/train/finetune.h"

#include "causeway/core/error.h"
#include "causeway/optim/optimizer.h"
#include "causeway/tables/split.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace causeway::train {

namespace {

using models::TabularPredictor;
using models::TabularTransformer;

constexpr const char* kName = "finetune";
constexpr std::int64_t kFewestRows = 20;
constexpr std::int64_t kMostTested = 1000;
constexpr std::int64_t kMostChecked = 500;
constexpr double kStandardErrors = 2;

// Some rows of a table.
struct Rows {
  Tensor x;
  Tensor y;
};

Rows select(const Rows& from, const std::vector<std::int64_t>& rows) {
  const Tensor numbers = Tensor::from<std::int64_t>(rows, {std::ssize(rows)});
  return {index_select(from.x, 0, numbers), index_select(from.y, 0, numbers)};
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Whether the second losses of the same rows are less by more than chance.
bool is_less(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> gains(before.size());
  std::ranges::transform(before, after, gains.begin(), std::minus<>());
  const double gain = mean(gains);
  double squares = 0;
  for (const double each : gains) squares += (each - gain) * (each - gain);
  const auto n = static_cast<double>(gains.size());
  return gain > kStandardErrors * std::sqrt(squares / (n * (n - 1)));
}

// The log loss of each query row.
std::vector<double> losses(TabularPredictor& fitted, const Rows& query) {
  std::vector<double> edges;
  Tensor p;
  if (fitted.is_regression()) {
    const models::TargetDistribution made = fitted.predict_distribution(query.x);
    edges = made.edges;
    p = made.probabilities;
  } else {
    p = fitted.predict_proba(query.x);
  }
  std::vector<double> made;
  const double* of_row = p.data_as<double>();
  for (const double y : query.y.to_vector<double>()) {
    const auto output =
        edges.empty() ? static_cast<std::int64_t>(y)
                      : std::upper_bound(edges.begin() + 1, edges.end() - 1, y) - edges.begin() - 1;
    made.push_back(-std::log(std::max(of_row[output], 1e-12)));
    of_row += p.size(1);
  }
  return made;
}

class Finetuning {
 public:
  Finetuning(const TabularPredictor& predictor, const FinetuneOptions& options)
      : options_(options),
        given_(predictor.model()),
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
  }

  Finetuned run(const models::ProgressHook& progress) {
    const auto before = weights();
    const auto [trained, n_steps] = train(progress);
    Finetuned made{before, 0, 0, n_steps};
    const std::vector<double> losses_before = test_losses(given_);
    made.loss_before = made.loss_after = mean(losses_before);
    model_->load_state(trained);
    const std::vector<double> losses_after = test_losses(model_);
    if (is_less(losses_before, losses_after)) {
      made.weights = trained;
      made.loss_after = mean(losses_after);
    }
    return made;
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
    const auto hold_out = [&](const Rows& from, std::int64_t count) {
      const auto strata = predictor.is_regression()
                              ? std::vector<std::int64_t>(static_cast<std::size_t>(from.y.numel()))
                              : from.y.to(DType::i64).to_vector<std::int64_t>();
      const std::int64_t n = std::ssize(strata);
      const auto kept = tables::stratified_sample(strata, n - count, generator_);
      std::vector<std::int64_t> held;
      for (std::int64_t row = 0; row < n; ++row) {
        if (!std::binary_search(kept.begin(), kept.end(), row)) held.push_back(row);
      }
      return std::pair(select(from, kept), select(from, held));
    };
    std::tie(others_, tested_) =
        hold_out({state_.x, state_.y}, std::min((n_rows + 4) / 5, kMostTested));
    std::tie(trained_, checked_) =
        hold_out(others_, std::min((others_.y.numel() + 4) / 5, kMostChecked));
    for (std::int64_t i = 0; i < trained_.x.size(1); ++i) {
      transforms_.emplace_back(models::Transform::none, models::column_values(trained_.x, i));
      if (!transforms_.back().is_constant()) columns_.push_back(i);
    }
    if (columns_.empty()) columns_.push_back(0);
  }

  // A table of random rows, of which random ones are context rows.
  models::Tables draw() {
    const std::int64_t n_rows = std::min(trained_.x.size(0), options_.max_rows);
    const std::int64_t n_columns =
        std::min<std::int64_t>(std::ssize(columns_), settings_.max_features);
    const auto rows = generator_.permutation(trained_.x.size(0)).to_vector<std::int64_t>();
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
        const double value = trained_.x.data_as<double>()[row * trained_.x.size(1) + column];
        *to++ = static_cast<float>(transforms_[static_cast<std::size_t>(column)](value));
      }
      const double target = trained_.y.data_as<double>()[row];
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

  // Trains the model for the time and returns the weights with the least loss on the checked rows,
  // which may be those before, and the number of steps.
  std::pair<std::map<std::string, Tensor>, std::int64_t> train(
      const models::ProgressHook& progress) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count() / options_.seconds;
    };
    auto best = weights();
    double least = check_loss();
    optim::Optimizer optimizer({.learning_rate = options_.learning_rate, .max_norm = 1});
    optimizer.add_group(model_->parameters(), {.weight_decay = 0.01});
    std::int64_t n_steps = 0;
    std::int64_t check = 8;  // the next step after which the checked rows are predicted
    while (passed() < 1 && n_steps < options_.max_steps) {
      optimizer.zero_grad();
      autograd::backward(model_->loss(draw()));
      optimizer.step();
      ++n_steps;
      if (progress) progress(std::min(passed(), 1.0));
      if (n_steps < check && n_steps < options_.max_steps && passed() < 1) continue;
      check += std::max<std::int64_t>(8, check / 4);
      const double loss = check_loss();
      if (loss < least) {
        best = weights();
        least = loss;
      }
    }
    return {std::move(best), n_steps};
  }

  // Of the model in training, by one ensemble member.
  double check_loss() const {
    models::PredictorOptions settings = settings_;
    settings.temperature = 1;
    settings.member_weights = models::MemberWeights::equal;
    settings.n_estimators = 1;
    TabularPredictor predictor(model_, settings);
    predictor.fit(trained_.x, trained_.y, state_.n_classes, features_);
    return mean(losses(predictor, checked_));
  }

  // Of a model as the estimator uses it.
  std::vector<double> test_losses(const std::shared_ptr<TabularTransformer>& model) const {
    TabularPredictor predictor(model, settings_);
    predictor.fit(others_.x, others_.y, state_.n_classes, features_);
    return losses(predictor, tested_);
  }

  FinetuneOptions options_;
  std::shared_ptr<TabularTransformer> given_;
  models::PredictorOptions settings_;
  TabularPredictor::State state_;
  tables::Features features_;
  Generator generator_;
  std::shared_ptr<TabularTransformer> model_;
  Rows tested_;   // a fifth, which decides whether the trained weights are better
  Rows others_;   // of those again:
  Rows checked_;  // a fifth, which chooses the weights of the run
  Rows trained_;
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
