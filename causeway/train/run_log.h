// The log of a run, <run>/log.jsonl: one JSON object per line, and the same numbers as TensorBoard
// events. A run that resumes from a checkpoint removes the lines after it, so that every step is
// logged once.
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
  // Keeps the lines of steps up to `last_step` (-1: none, for a new run) and appends to them.
  // Removes everything after them, such as a line that a kill truncated. Every function throws io
  // errors; a folder may have one open log at a time.
  explicit RunLog(const std::filesystem::path& run, std::int64_t last_step = -1);

  // Writes {"step":120,"time":1769900000.25,"loss":0.5} to the file at once: time in seconds since
  // 1970, null for numbers that are not finite. Steps must not decrease.
  void add(std::int64_t step, std::span<const NamedNumber> numbers);
  void add(std::int64_t step, std::initializer_list<NamedNumber> numbers) {
    add(step, std::span(numbers.begin(), numbers.size()));
  }

  std::int64_t last_step() const { return last_step_; }  // -1 before the first line
  const std::filesystem::path& path() const { return path_; }

 private:
  // The offset where the lines of steps up to `last_step` end; sets last_step_.
  std::uint64_t find_end(std::int64_t last_step);

  std::filesystem::path path_;
  std::int64_t last_step_ = -1;
  AppendFile lines_;
  EventWriter events_;
};

}  // namespace causeway::train
