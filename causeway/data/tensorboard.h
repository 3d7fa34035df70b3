// TensorBoard's event files: records of a length and a checksum each, with the protocol buffer
// messages of a step's numbers, written by hand.
#pragma once

#include "causeway/core/append_file.h"

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
  // Begins a file events.out.tfevents.<time>.<process> in `folder`, which is made where there is
  // none. Of the folder's earlier files TensorBoard shows the steps before `first_step` only. Every
  // function throws io errors.
  EventWriter(const std::filesystem::path& folder, std::int64_t first_step);

  // Numbers are stored as f32. They outlive this process at once.
  void add(std::int64_t step, std::span<const NamedNumber> numbers);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  AppendFile file_;
};

namespace data {

// An event at `time` (seconds since 1970) as the bytes of a record.
std::string event_record(double time, std::int64_t step, std::span<const NamedNumber> numbers);

}  // namespace data

}  // namespace causeway
