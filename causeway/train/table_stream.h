// Batches of tables for training, made while the ones before are trained on. Datasets are taken in
// windows of many steps and put into batches by their width, so that little of a batch is padding;
// a batch's width is one of few, so that few shapes occur. What step k reads is a function of seed
// and configuration alone; of several ranks each has its part of every batch.
#pragma once

#include "causeway/models/tabular.h"
#include "causeway/prior/prior.h"
#include "causeway/runtime/stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace causeway::train {

// From `step` on, or from the first window that begins later, tables have `rows` rows.
struct RowStage {
  std::int64_t step = 0;
  int rows = 0;
};

struct TableStreamOptions {
  prior::PriorConfig prior;
  std::int64_t batch = 32;         // datasets a step, over all ranks
  std::int64_t window_steps = 32;  // whose datasets are made at once
  std::vector<RowStage> stages;    // ascending; before the first, and if none: as the prior says
  int rank = 0;
  int n_ranks = 1;
};

// The widths a batch may have: `features` columns take the least of them that is not less.
int padded_width(int features, int most);

class TableStream {
 public:
  TableStream(const TableStreamOptions& options, Device device);

  // The tables of a step, on the current stream of the device: of the step after the last one asked
  // for, or any other, which takes longer.
  models::Tables tables(std::int64_t step);

  // Milliseconds the device spent on making datasets so far, without those it is still at.
  double generation_ms() const;

 private:
  struct Batch {
    std::int64_t x = 0;  // where it begins
    std::int64_t y = 0;
    std::int64_t width = 0;
  };
  struct Window {
    std::int64_t number = -1;
    std::int64_t rows = 0;
    std::vector<Batch> batches;
    Tensor x, y, sizes;
    std::optional<Event> begun, made;
  };

  void check() const;
  prior::PriorConfig prior_with(int rows) const;
  const prior::Prior& prior_of(std::int64_t window);
  void make(std::int64_t number, Window& window);

  TableStreamOptions options_;
  Device device_;
  std::vector<std::pair<int, prior::Prior>> priors_;  // by rows
  std::optional<Stream> stream_;
  std::vector<Window> windows_;
  mutable double generation_ms_ = 0;
};

}  // namespace causeway::train
