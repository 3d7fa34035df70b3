#include "causeway/optim/average.h"

#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"

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

}  // namespace

MovingAverage::MovingAverage(const std::vector<Tensor>& weights, double decay)
    : weights_(plain(weights)), decay_(decay) {
  if (!(decay >= 0 && decay < 1)) {
    fail(ErrorKind::invalid_argument, "moving_average", "the decay must be in [0, 1)");
  }
  for (const Tensor& weight : weights_) averages_.push_back(widened(weight).clone());
}

void MovingAverage::update() {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor gap = widened(weights_[i]) - averages_[i];
    averages_[i].copy_from(averages_[i] + gap * Scalar(1 - decay_));
  }
}

void MovingAverage::copy_to_weights() const { write_over(weights_, averages_); }

LastAverage::LastAverage(const std::vector<Tensor>& weights, std::size_t k)
    : weights_(plain(weights)), k_(k) {
  if (k == 0) fail(ErrorKind::invalid_argument, "last_average", "k must be 1 or more");
}

void LastAverage::update() {
  std::vector<Tensor> copies;
  for (const Tensor& weight : weights_) copies.push_back(weight.clone());
  snapshots_.push_back(std::move(copies));
  if (snapshots_.size() > k_) snapshots_.pop_front();
}

std::vector<Tensor> LastAverage::values() const {
  if (snapshots_.empty()) {
    fail(ErrorKind::invalid_argument, "last_average", "no snapshot was taken; call update() first");
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

}  // namespace causeway::optim
