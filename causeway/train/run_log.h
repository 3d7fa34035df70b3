// The numbers of a run over its steps, <run>/log.jsonl: one JSON object a line, and the same for
// TensorBoard beside it. A run that goes on from a checkpoint cuts off what came after it, so that
// every step is told once.
#pragma once

#include "causeway/core/append_file.h"
#include "causeway/data/tensorboard.h"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>

namespace causeway::train {

class RunLog {
 public:
  // Keeps the lines of steps up to `last_step` (none, for a new run) and adds to them. A last line
  // that a kill cut short goes, as does anything behind the last whole one. Every function throws
  // io errors; one log at a time may be open in a folder.
  explicit RunLog(const std::filesystem::path& run, std::int64_t last_step = -1);

  // {"step":120,"time":1769900000.25,"loss":0.5}: time in seconds since 1970; numbers that are not
  // finite are null. Steps never go back. The line outlives this process at once.
  void add(std::int64_t step, std::span<const NamedNumber> numbers);
  void add(std::int64_t step, std::initializer_list<NamedNumber> numbers) {
    add(step, std::span(numbers.begin(), numbers.size()));
  }

  std::int64_t last_step() const { return last_step_; }  // -1 before the first line
  const std::filesystem::path& path() const { return path_; }

 private:
  // Where lines of steps up to `last_step` end; notes the last of them.
  std::uint64_t find_end(std::int64_t last_step);

  std::filesystem::path path_;
  std::int64_t last_step_ = -1;
  AppendFile lines_;
  EventWriter events_;
};

}  // namespace causeway::train
