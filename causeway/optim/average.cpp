#include "causeway/optim/average.h"

#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"

#include <fmt/format.h>

namespace causeway::optim {

namespace {

std::vector<Tensor> plain(const std::vector<Tensor>& weights) {
  std::vector<Tensor> handles;
  for (const Tensor& weight : weights) handles.push_back(autograd::detach(weight));
  return handles;
}

Tensor widened(const Tensor& x) { return x.to(x.dtype() == DType::f64 ? DType::f64 : DType::f32); }

void write_over(const std::vector<Tensor>& weights, const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].copy_from(values[i]);
}

// The tensor called `name`; throws if its shape or dtype differs from `like`.
const Tensor& take(std::string_view operation, const std::map<std::string, Tensor>& state,
                   const std::string& name, const Tensor& like) {
  const auto found = state.find(name);
  if (found == state.end()) {
    fail(ErrorKind::format, operation,
         fmt::format("\"{}\" is missing; the state belongs to other weights", name));
  }
  const Tensor& tensor = found->second;
  if (tensor.shape() != like.shape() || tensor.dtype() != like.dtype()) {
    fail(ErrorKind::format, operation,
         fmt::format("\"{}\" is {} of {}, expected {} of {}", name, to_string(tensor.shape()),
                     to_string(tensor.dtype()), to_string(like.shape()), to_string(like.dtype())));
  }
  return tensor;
}

void require_count(std::string_view operation, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  fail(ErrorKind::format, operation,
       fmt::format("the state has {} tensors, expected {}; it belongs to other weights", found,
                   expected));
}

}  // namespace

MovingAverage::MovingAverage(const std::vector<Tensor>& weights, double decay)
    : weights_(plain(weights)), decay_(decay) {
  if (!(decay >= 0 && decay < 1)) {
    fail(ErrorKind::invalid_argument, "moving_average", "decay must be in [0, 1)");
  }
  for (const Tensor& weight : weights_) averages_.push_back(widened(weight).clone());
}

void MovingAverage::update() {
  const MemoryScope scope("average");
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor gap = widened(weights_[i]) - averages_[i];
    averages_[i].copy_from(averages_[i] + gap * Scalar(1 - decay_));
  }
}

void MovingAverage::copy_to_weights() const { write_over(weights_, averages_); }

std::map<std::string, Tensor> MovingAverage::state() const {
  std::map<std::string, Tensor> state;
  for (std::size_t i = 0; i < averages_.size(); ++i) state[std::to_string(i)] = averages_[i];
  return state;
}

void MovingAverage::load_state(const std::map<std::string, Tensor>& state) {
  constexpr std::string_view kOperation = "moving_average.load_state";
  require_count(kOperation, state.size(), averages_.size());
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    given.push_back(take(kOperation, state, std::to_string(i), averages_[i]));
  }
  write_over(averages_, given);
}

LastAverage::LastAverage(const std::vector<Tensor>& weights, std::size_t k)
    : weights_(plain(weights)), k_(k) {
  if (k == 0) fail(ErrorKind::invalid_argument, "last_average", "k must be at least 1");
}

void LastAverage::update() {
  const MemoryScope scope("average");
  std::vector<Tensor> copies;
  for (const Tensor& weight : weights_) copies.push_back(weight.clone());
  snapshots_.push_back(std::move(copies));
  if (snapshots_.size() > k_) snapshots_.pop_front();
}

std::vector<Tensor> LastAverage::values() const {
  if (snapshots_.empty()) {
    fail(ErrorKind::invalid_argument, "last_average", "no snapshots yet; call update() first");
  }
  std::vector<Tensor> means;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    Tensor total = widened(snapshots_.front()[i]);
    for (std::size_t k = 1; k < snapshots_.size(); ++k) total = total + widened(snapshots_[k][i]);
    means.push_back(total / Scalar(static_cast<double>(snapshots_.size())));
  }
  return means;
}

void LastAverage::copy_to_weights() const { write_over(weights_, values()); }

std::map<std::string, Tensor> LastAverage::state() const {
  std::map<std::string, Tensor> state;
  for (std::size_t k = 0; k < snapshots_.size(); ++k) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      state[fmt::format("{}.{}", k, i)] = snapshots_[k][i];
    }
  }
  return state;
}

void LastAverage::load_state(const std::map<std::string, Tensor>& state) {
  constexpr std::string_view kOperation = "last_average.load_state";
  const std::size_t n_snapshots = weights_.empty() ? 0 : state.size() / weights_.size();
  require_count(kOperation, state.size(), n_snapshots * weights_.size());
  std::deque<std::vector<Tensor>> given;
  for (std::size_t k = 0; k < n_snapshots; ++k) {
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Tensor& one = take(kOperation, state, fmt::format("{}.{}", k, i), weights_[i]);
      copies.push_back(one.to(weights_[i].device()).clone());
    }
    given.push_back(std::move(copies));
    if (given.size() > k_) given.pop_front();
  }
  snapshots_ = std::move(given);
}

}  // namespace causeway::optim
