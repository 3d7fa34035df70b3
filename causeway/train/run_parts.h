// Parts of a pre-training run that are code instead of settings: a source of batches, prior
// families and a model that are not in the library, such as those written in Python.
#pragma once

#include "causeway/models/tabular_encoder.h"
#include "causeway/nn/module.h"
#include "causeway/prior/prior.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causeway::train {

// Where the batches of a run come from.
class TableSource {
 public:
  virtual ~TableSource() = default;

  // The tables of a step on this rank: on the run's device and its current stream, or on the CPU.
  virtual models::Tables tables(std::int64_t step) = 0;
  // Milliseconds that were spent on the tables so far, without those that are not ready.
  virtual double generation_ms() const = 0;
};

// Datasets of one size that a custom family is asked for.
struct CustomRequest {
  std::uint64_t seed = 0;              // of the prior
  std::vector<std::uint64_t> indices;  // of the datasets
  std::vector<int> n_classes;          // of each; 0: numeric target
  int n_rows = 0;
  int n_features = 0;
  Device device = Device::cpu();
};

// A prior family. Sizes and the number of context rows are drawn as for built-in families.
struct CustomFamily {
  std::string name;
  double share = 0;  // probability that a dataset is of this family
  // Returns x (datasets, rows, features) and y (datasets, rows), f32, on the device. The same
  // request must give the same values.
  std::function<std::pair<Tensor, Tensor>(const CustomRequest& request)> generate;
};

// Like Prior::fill, where each dataset is of a custom family with the probability of its share.
Tensor fill_tables(const prior::Prior& prior, std::span<const CustomFamily> families,
                   std::span<const std::uint64_t> indices,
                   std::span<const prior::Batch::Offsets> offsets, const Tensor& x,
                   const Tensor& y);

// A model that is trained instead of the tabular transformer.
class CustomModel {
 public:
  virtual ~CustomModel() = default;

  // Its parameters are on the device of the run.
  virtual nn::Module& module() = 0;
  // The loss of the query rows, a scalar: the mean over each table, then over tables.
  virtual Tensor loss(const models::Tables& tables) = 0;
};

struct RunParts {
  std::shared_ptr<TableSource> source;  // instead of the prior; else empty
  std::vector<CustomFamily> families;   // besides those of the prior
  std::shared_ptr<CustomModel> model;   // instead of the tabular transformer; else empty
};

}  // namespace causeway::train
