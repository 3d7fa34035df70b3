// A prior over tables: dataset k of a seed is a function of seed, k and configuration alone, the
// same bytes on every device, in any batch, thread, rank or shard.
#pragma once

#include "causeway/prior/config.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::prior {

// What is known of a dataset.
struct DatasetFacts {
  std::uint64_t index = 0;
  std::string family;
  int n_rows = 0;
  int n_features = 0;  // columns that carry numbers; any beyond are 0
  int n_classes = 0;   // labels are 0 ... n_classes - 1, not all of which need occur; 0: a number
  int n_train = 0;     // rows before the split
  int n_attempts = 0;  // drawn until one passed, itself counted
  double bayes_error = 0.0;  // how often the likeliest class is wrong, where classes are sampled
  std::vector<int>
      rejected;  // how many attempts failed for each reason, in rejection_reasons' order
};

const std::vector<std::string>& rejection_reasons();

// How datasets of different sizes share memory.
enum class Layout : std::uint8_t {
  padded,  // x (count, rows, features) and y (count, rows), the rest 0
  packed,  // one after the other, rows as wide as the features asked for: see Batch::places
};

struct Batch {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;  // between the numbers of its datasets
  std::int64_t count = 0;
  Layout layout = Layout::padded;
  Tensor x;     // f32
  Tensor y;     // f32: numbers, or labels
  Tensor info;  // i32 (count, 15), as the generator left it; empty where nothing was left to chance
  // Packed: where dataset k begins in x and in y, and how many numbers its rows are apart in x.
  struct Place {
    std::int64_t x;
    std::int64_t y;
    std::int64_t row_stride;
  };
  std::vector<Place> places;

  // Dataset k of the batch as views: x (rows, features) and y (rows,), at their own size. Waits for
  // the device the first time. Throws where no attempt passed.
  const std::vector<DatasetFacts>& facts() const;
  Tensor x_of(std::int64_t k) const;
  Tensor y_of(std::int64_t k) const;
  // The same on another device.
  Batch to(Device device) const;

 private:
  friend class Prior;
  struct Known;
  std::shared_ptr<Known> known_;
};

struct AskedSizes {
  int n_rows = 0;
  int n_features = 0;
  int n_classes = 0;
  int n_train = 0;
};

// A node of a dataset's graph, or a layer of its network.
struct Mechanism {
  int id = 0;
  std::vector<int> parents;
  std::string what;  // the functions drawn, in words
  int width = 0;
};

struct ColumnSource {
  int node = -1;         // the mechanism it is read from
  std::string kind;      // numeric, warped, neighbour, softmax, …
  int n_categories = 0;  // 0 for numbers
  double mean = 0.0;     // before it was standardised
  double deviation = 1.0;
};

// The model behind a dataset.
struct Description {
  DatasetFacts facts;
  std::vector<Mechanism> mechanisms;   // in the order they are evaluated
  std::vector<ColumnSource> features;  // as handed out
  ColumnSource target;

  // The nodes that a node's value reaches, itself among them.
  std::vector<int> descendants_of(int node) const;
  std::string to_json() const;
};

// Two worlds that share all that was drawn.
struct Worlds {
  Tensor x, y;              // (rows, features), (rows,)
  Tensor other_x, other_y;  // after the intervention, or without noise
};

class Prior {
 public:
  explicit Prior(const PriorConfig& config, Device device = Device::cpu());

  const PriorConfig& config() const { return config_; }
  Device device() const { return device_; }

  // Datasets first, first + stride, first + 2 stride, ..., on the prior's device and its current
  // stream.
  Batch batch(std::uint64_t first, std::int64_t count, Layout layout = Layout::padded,
              std::uint64_t stride = 1) const;

  // The sizes dataset `index` is asked to have, without making it.
  AskedSizes asked(std::uint64_t index) const;
  // Datasets of any numbers to memory of the caller's, each where its place says: rows are filled
  // with 0 up to their distance, and nothing is written where no attempt passed. Returns (count, 3)
  // i64: rows, features, and rows before the split, which are all of them where none passed.
  Tensor fill(std::span<const std::uint64_t> indices, std::span<const Batch::Place> places,
              const Tensor& x, const Tensor& y) const;

  // The rest is made on the CPU, one dataset at a time.
  Description describe(std::uint64_t index) const;
  // The dataset, and the same with feature `column` set to `value` (in the units of its column) in
  // every row: what does not depend on it stays as it was, bit for bit.
  Worlds intervene(std::uint64_t index, int column, double value) const;
  // The dataset, and the same without noise, each sampled class the likeliest.
  Worlds without_noise(std::uint64_t index) const;

 private:
  PriorConfig config_;
  Device device_;
  std::shared_ptr<const Recipe> recipe_;
};

// A 64-bit hash of a dataset's numbers and sizes, which does not depend on how it lies in memory;
// and of many, in order.
std::uint64_t hash_dataset(const Batch& batch, std::int64_t k);
std::uint64_t hash_all(std::span<const std::uint64_t> hashes);

}  // namespace causeway::prior
