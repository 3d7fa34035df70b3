// TensorBoard event files: length-prefixed, checksummed records of protocol buffer messages,
// encoded here without a library.
#pragma once

#include "causeway/core/append_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace causeway {

// A name, such as "train/loss", and its value.
using NamedNumber = std::pair<std::string, double>;

class EventWriter {
 public:
  // Starts a file events.out.tfevents.<time>.<process> in `folder`, which is created if needed. For
  // earlier files of the folder TensorBoard shows only steps before `first_step`; damaged ones are
  // named in warnings. All functions throw io errors.
  EventWriter(const std::filesystem::path& folder, std::int64_t first_step);

  // Stores numbers as f32 and flushes them immediately.
  void add(std::int64_t step, std::span<const NamedNumber> numbers);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  AppendFile file_;
};

namespace data {

// The length of the undamaged beginning of an event file: records whose checksums are correct.
std::uint64_t undamaged_events(std::span<const std::byte> file);

// An event at `time` (seconds since 1970) as a record.
std::string event_record(double time, std::int64_t step, std::span<const NamedNumber> numbers);

}  // namespace data

}  // namespace causeway
