// Averages of weights over the course of training.
#pragma once

#include "causeway/tensor/tensor.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace causeway::optim {

// An exponential moving average, in f32 (f64 for f64 weights).
class MovingAverage {
 public:
  MovingAverage(const std::vector<Tensor>& weights, double decay);

  // average += (weights - average) * (1 - decay).
  void update();
  const std::vector<Tensor>& values() const { return averages_; }
  // Overwrites the weights with the averages.
  void copy_to_weights() const;

  // The averages by name: "0", "1", ...; loading requires the same weights.
  std::map<std::string, Tensor> state() const;
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  std::vector<Tensor> weights_;
  std::vector<Tensor> averages_;
  double decay_;
};

// The mean of the last `k` snapshots.
class LastAverage {
 public:
  LastAverage(const std::vector<Tensor>& weights, std::size_t k);

  // Takes a snapshot and drops the oldest if there are more than k.
  void update();
  std::size_t snapshots() const { return snapshots_.size(); }
  // The means, one per weight; throws before the first snapshot.
  std::vector<Tensor> values() const;
  void copy_to_weights() const;

  // The snapshots by name; "0.3" is the fourth weight of the oldest. Loading requires the same
  // weights and keeps the last k.
  std::map<std::string, Tensor> state() const;
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  std::vector<Tensor> weights_;
  std::deque<std::vector<Tensor>> snapshots_;
  std::size_t k_;
};

}  // namespace causeway::optim
