// A prior over tables. Dataset k of a seed depends only on seed, k and configuration: the bytes are
// the same on every device and in any batch, thread, rank or shard.
#pragma once

#include "causeway/prior/config.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::prior {

// Facts about a generated dataset.
struct DatasetFacts {
  std::uint64_t index = 0;
  std::string family;
  int n_rows = 0;
  int n_features = 0;  // columns with values; columns beyond are 0
  int n_classes = 0;   // labels are 0 ... n_classes - 1, not all need occur; 0: numeric target
  int n_train = 0;     // context rows
  int n_attempts = 0;  // attempts until one was accepted, including it
  double bayes_error = 0.0;   // error rate of the Bayes classifier, where classes are sampled
  std::vector<int> rejected;  // rejected attempts per reason, in the order of rejection_reasons
};

const std::vector<std::string>& rejection_reasons();

// Memory layout of datasets of different sizes.
enum class Layout : std::uint8_t {
  padded,  // x (count, rows, features) and y (count, rows), padded with 0
  packed,  // one after the other, rows as wide as the requested features: see Batch::offsets
};

struct Batch {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;  // between consecutive dataset indices
  std::int64_t count = 0;
  Layout layout = Layout::padded;
  Tensor x;     // f32
  Tensor y;     // f32: numbers, or labels
  Tensor info;  // i32 (count, 15), from the generator; empty for simple without filters
  // Packed layout: offsets of dataset k in x and y, and its row stride in x.
  struct Offsets {
    std::int64_t x;
    std::int64_t y;
    std::int64_t row_stride;
  };
  std::vector<Offsets> offsets;

  // Dataset k of the batch as views of its own size: x (rows, features) and y (rows,). Synchronises
  // with the device on the first call. Throws if all attempts were rejected.
  const std::vector<DatasetFacts>& facts() const;
  Tensor x_of(std::int64_t k) const;
  Tensor y_of(std::int64_t k) const;
  // A copy on another device.
  Batch to(Device device) const;

 private:
  friend class Prior;
  struct Known;
  std::shared_ptr<Known> known_;
};

struct RequestedSizes {
  int n_rows = 0;
  int n_features = 0;
  int n_classes = 0;
  int n_train = 0;
};

// A node of a dataset's graph, or a layer of its network.
struct Mechanism {
  int id = 0;
  std::vector<int> parents;
  std::string what;  // the sampled functions, as text
  int width = 0;
};

struct ColumnSource {
  int node = -1;         // the mechanism whose value it is read from
  std::string kind;      // numeric, warped, neighbour, softmax, …
  int n_categories = 0;  // 0 for numbers
  double mean = 0.0;     // before standardisation
  double deviation = 1.0;
};

// The structural causal model behind a dataset.
struct Description {
  DatasetFacts facts;
  std::vector<Mechanism> mechanisms;   // in evaluation order
  std::vector<ColumnSource> features;  // in output order
  ColumnSource target;

  // The nodes that depend on `node`, including itself.
  std::vector<int> descendants_of(int node) const;
  std::string to_json() const;
};

// A factual and a counterfactual dataset that share all random draws.
struct Counterfactual {
  Tensor x, y;                                // (rows, features), (rows,)
  Tensor counterfactual_x, counterfactual_y;  // after the intervention, or without noise
};

class Prior {
 public:
  explicit Prior(const PriorConfig& config, Device device = Device::cpu());

  const PriorConfig& config() const { return config_; }
  Device device() const { return device_; }

  // Datasets first, first + stride, first + 2 stride, ..., on the prior's device and current
  // stream.
  Batch batch(std::uint64_t first, std::int64_t count, Layout layout = Layout::padded,
              std::uint64_t stride = 1) const;

  // The sizes drawn for dataset `index`, without generating it. Constant columns may be dropped
  // later.
  RequestedSizes requested_sizes(std::uint64_t index) const;
  // Writes the datasets `indices` to memory of the caller, each at its offsets. Rows are
  // zero-padded up to their stride; rejected datasets write nothing. Returns (count, 3) i64: rows,
  // features, context rows; context rows equal rows for a rejected dataset.
  Tensor fill(std::span<const std::uint64_t> indices, std::span<const Batch::Offsets> offsets,
              const Tensor& x, const Tensor& y) const;

  // Bytes that fill() takes from the device's pool while it generates `count` datasets.
  std::size_t scratch_bytes(std::int64_t count) const;

  // The functions below run on the CPU, one dataset at a time.
  Description describe(std::uint64_t index) const;
  // The dataset, and a copy with feature `column` set to `value` (in the units of its column) in
  // every row. Values that do not depend on it are bit-identical.
  Counterfactual intervene(std::uint64_t index, int column, double value) const;
  // The dataset, and a copy without noise, where each sampled class is the most likely one.
  Counterfactual without_noise(std::uint64_t index) const;

 private:
  PriorConfig config_;
  Device device_;
  std::shared_ptr<const Recipe> recipe_;
};

// A 64-bit hash of a dataset's values and sizes, independent of its memory layout; and of many
// datasets, in order.
std::uint64_t hash_dataset(const Batch& batch, std::int64_t k);
std::uint64_t hash_all(std::span<const std::uint64_t> hashes);

}  // namespace causeway::prior
