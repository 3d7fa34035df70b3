// Averages of weights over the course of training, for use in their place.
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
  // Writes the averages over the weights.
  void copy_to_weights() const;

  // The averages by name: "0", "1", …; loading wants the same weights.
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

  // Takes a snapshot; the oldest goes once there are more than k.
  void update();
  std::size_t snapshots() const { return snapshots_.size(); }
  // The means, one a weight; throws before the first snapshot.
  std::vector<Tensor> values() const;
  void copy_to_weights() const;

  // The snapshots by name, "0.3" the fourth weight of the oldest; loading wants the same weights
  // and takes the last k.
  std::map<std::string, Tensor> state() const;
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  std::vector<Tensor> weights_;
  std::deque<std::vector<Tensor>> snapshots_;
  std::size_t k_;
};

}  // namespace causeway::optim
