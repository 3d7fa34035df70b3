// Batches of datasets for training, generated while the previous ones are trained on. The datasets
// of a window of steps are sorted by width and cut into batches, so that there is little padding;
// widths are rounded up to a few values, so that there are few shapes. Step k depends on seed and
// configuration only, if custom families are pure functions. Each rank gets its part of every
// batch. With two uses per dataset, the batches of a window come twice, the second time in reverse
// order (models::reversed).
#pragma once

#include "causeway/runtime/stream.h"
#include "causeway/train/run_parts.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace causeway::train {

// Tables have `rows` rows from the first window that starts at `step` or later.
struct RowStage {
  std::int64_t step = 0;
  int rows = 0;
};

struct TableStreamOptions {
  prior::PriorConfig prior;
  std::int64_t batch = 32;         // datasets per step, over all ranks
  std::int64_t window_steps = 32;  // steps whose datasets are generated together
  std::int64_t uses = 1;           // of each dataset, 1 or 2
  std::vector<RowStage> stages;    // ascending; before the first the prior's rows apply
  std::vector<CustomFamily> families;
  int rank = 0;
  int n_ranks = 1;
};

// `features` rounded up to one of the few widths of batches, at most `max_features`.
int padded_width(int features, int max_features);

class TableStream : public TableSource {
 public:
  TableStream(const TableStreamOptions& options, Device device);
  ~TableStream() override;
  TableStream(TableStream&&) noexcept = default;
  TableStream& operator=(TableStream&&) = delete;

  // Steps may be in any order; consecutive ones are fastest.
  models::Tables tables(std::int64_t step) override;
  double generation_ms() const override;

 private:
  struct Batch {
    std::int64_t x = 0;  // offsets in the window's tensors
    std::int64_t y = 0;
    std::int64_t width = 0;
  };
  struct Window {
    std::int64_t number = -1;
    std::int64_t rows = 0;
    std::vector<Batch> batches;
    Tensor x, y, sizes;
    std::optional<Event> start, end;
  };

  void check() const;
  std::int64_t steps_of_window() const { return options_.window_steps * options_.uses; }
  prior::PriorConfig prior_with(int rows) const;
  const prior::Prior& prior_of(std::int64_t window);
  void generate(std::int64_t number, Window& window);
  void await(const Window& window) const;

  TableStreamOptions options_;
  Device device_;
  std::vector<std::pair<int, prior::Prior>> priors_;  // by rows
  std::optional<Stream> stream_;
  std::vector<Window> windows_;
  mutable double generation_ms_ = 0;
};

}  // namespace causeway::train
