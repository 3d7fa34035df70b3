#include "causeway/train/table_stream.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace causeway::train {

int padded_width(int features, int max_features) {
  const int step = features <= 8 ? 2 : (features <= 32 ? 4 : 8);
  return std::min((features + step - 1) / step * step, max_features);
}

TableStream::TableStream(const TableStreamOptions& options, Device device)
    : options_(options), device_(device), windows_(2) {
  check();
  if (device.is_cuda()) stream_.emplace(device);
}

TableStream::~TableStream() {
  try {
    for (const Window& window : windows_) await(window);
  } catch (const Error&) {
    // The device has failed, and with it the fill.
  }
}

// Makes the current stream wait for the fill of a window, before its memory is released there.
void TableStream::await(const Window& window) const {
  if (window.end.has_value()) current_stream(device_).wait(*window.end);
}

// Checks every stage before training starts.
void TableStream::check() const {
  const auto refuse = [](const std::string& why) {
    fail(ErrorKind::invalid_argument, "pretrain", why);
  };
  options_.prior.check();
  if (options_.batch < 1 || options_.batch % options_.n_ranks != 0) {
    refuse(fmt::format("batch {}: expected a multiple of the {} ranks", options_.batch,
                       options_.n_ranks));
  }
  if (options_.window_steps < 1) {
    refuse(fmt::format("window_steps {}: expected 1 or more", options_.window_steps));
  }
  std::int64_t before = -1;
  for (const RowStage& stage : options_.stages) {
    if (stage.step <= before) {
      refuse(
          fmt::format("stage of step {} after the stage of step {}: expected ascending steps, "
                      "0 or more",
                      stage.step, before));
    }
    before = stage.step;
    with_context(fmt::format("checking the stage of step {}", stage.step),
                 [&] { prior_with(stage.rows).check(); });
  }
}

prior::PriorConfig TableStream::prior_with(int rows) const {
  prior::PriorConfig config = options_.prior;
  if (!options_.stages.empty()) config.rows = {rows, rows};
  return config;
}

const prior::Prior& TableStream::prior_of(std::int64_t window) {
  int rows = options_.prior.rows.high;
  for (const RowStage& stage : options_.stages) {
    if (stage.step <= window * steps_of_window()) rows = stage.rows;
  }
  for (const auto& [of, prior] : priors_) {
    if (of == rows) return prior;
  }
  priors_.emplace_back(rows, prior::Prior(prior_with(rows), device_));
  return priors_.back().second;
}

void TableStream::generate(std::int64_t number, Window& window) {
  const prior::Prior& prior = prior_of(number);
  const std::int64_t rows = prior.config().rows.high;
  const int most = prior.config().features.high;
  const std::int64_t count = options_.batch * options_.window_steps;
  const auto first = static_cast<std::uint64_t>(number * count);
  std::vector<std::uint64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), first);
  std::vector<int> widths(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    widths[k] = prior.requested_sizes(order[k]).n_features;
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return widths[a - first] < widths[b - first];
  });
  // Steps alternate between narrow and wide batches.
  const std::int64_t n = options_.window_steps;
  std::int64_t stride = n / 2 + 1;
  while (std::gcd(stride, n) != 1) ++stride;
  const std::int64_t own = options_.batch / options_.n_ranks;
  std::vector<std::uint64_t> indices;
  std::vector<prior::Batch::Offsets> places;
  window.batches.clear();
  Batch batch;
  for (std::int64_t step = 0; step < n; ++step) {
    const auto* members = order.data() + step * stride % n * options_.batch;
    const std::uint64_t widest = members[options_.batch - 1];
    batch.width = padded_width(widths[widest - first], most);
    window.batches.push_back(batch);
    for (std::int64_t k = 0; k < own; ++k) {
      indices.push_back(members[options_.rank * own + k]);
      places.push_back({batch.x, batch.y, batch.width});
      batch.x += rows * batch.width;
      batch.y += rows;
    }
  }
  await(window);
  const MemoryScope scope("tables");
  // Allocated on the current stream: on the generation's stream they would take blocks that its
  // scratch memory reuses.
  window.x = zeros({batch.x}, DType::f32, device_);
  window.y = zeros({batch.y}, DType::f32, device_);
  const StreamView stream = stream_.has_value() ? stream_->view() : current_stream(device_);
  stream.wait(current_stream(device_));  // which reads the window that this replaces
  const StreamGuard guard(stream);
  if (window.end.has_value()) {
    generation_ms_ += Event::milliseconds(*window.start, *window.end);
  }
  window.end.reset();  // an interrupted generation has no end
  window.start.emplace(device_, true);
  window.start->record(stream);
  window.sizes = fill_tables(prior, options_.families, indices, places, window.x, window.y);
  window.end.emplace(device_, true);
  window.end->record(stream);
  window.number = number;
  window.rows = rows;
}

models::Tables TableStream::tables(std::int64_t step) {
  const std::int64_t number = step / steps_of_window();
  Window& window = windows_[static_cast<std::size_t>(number % 2)];
  if (window.number != number) generate(number, window);
  Window& next = windows_[static_cast<std::size_t>((number + 1) % 2)];
  if (next.number != number + 1) generate(number + 1, next);
  const StreamView stream = current_stream(device_);
  stream.wait(*window.end);
  const std::int64_t at = step % options_.window_steps;
  const Batch& batch = window.batches[static_cast<std::size_t>(at)];
  const std::int64_t own = options_.batch / options_.n_ranks;
  const auto part = [](const Tensor& of, std::int64_t first, const Shape& shape) {
    return of.slice(0, first, first + numel(shape)).reshape(shape);
  };
  const models::Tables made{part(window.x, batch.x, {own, window.rows, batch.width}),
                            part(window.y, batch.y, {own, window.rows}),
                            window.sizes.slice(0, at * own, (at + 1) * own)};
  const bool again = step / options_.window_steps % options_.uses == 1;
  return again ? reversed(made, !options_.prior.regression) : made;
}

double TableStream::generation_ms() const {
  double sum = generation_ms_;
  for (const Window& window : windows_) {
    if (!window.end.has_value() || !window.end->done()) continue;
    sum += Event::milliseconds(*window.start, *window.end);
  }
  return sum;
}

}  // namespace causeway::train
