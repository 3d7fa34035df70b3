#include "causeway/train/checkpoint_writer.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/log.h"
#include "causeway/runtime/pool.h"

#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace causeway::train {

namespace {

std::size_t bytes_of(const Checkpoint& checkpoint) {
  std::size_t bytes = 0;
  for (const auto& [set, tensors] : checkpoint.tensors) {
    for (const auto& [name, tensor] : tensors) bytes += tensor.n_bytes();
  }
  return bytes;
}

// The same with tensors of its own in host memory; nullopt where that has no room for them. Half of
// what is free remains for the steps that follow.
std::optional<Checkpoint> copy_of(const Checkpoint& checkpoint) {
  const bool is_limited = pool_of(Device::cpu()).stats().limit > 0;
  if (is_limited || describe(Device::cpu()).memory_free / 2 < bytes_of(checkpoint)) {
    return std::nullopt;
  }
  const MemoryScope scope("checkpoint");
  Checkpoint copy = checkpoint;
  try {
    for (auto& [set, tensors] : copy.tensors) {
      for (auto& [name, tensor] : tensors) {
        tensor = tensor.device().is_cpu() ? tensor.clone() : tensor.to(Device::cpu());
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return std::nullopt;
  }
  return copy;
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::write(const Checkpoint& checkpoint) const {
  make_room_for(folder_, [&] { folder_.save(checkpoint); });
  saved_ = checkpoint.step;
}

void CheckpointWriter::try_write(const Checkpoint& checkpoint) const {
  try {
    write(checkpoint);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    logger::warn(fmt::format("training continues without this checkpoint: {}", error.what()));
  }
}

void CheckpointWriter::start(const Checkpoint& checkpoint) {
  finish();
  std::optional<Checkpoint> copy = copy_of(checkpoint);
  if (!copy.has_value()) return try_write(checkpoint);
  try {
    thread_ = std::thread([this, copied = std::move(*copy)] {
      try {
        try_write(copied);
      } catch (...) {
        problem_ = std::current_exception();
      }
    });
  } catch (const std::system_error&) {  // the system has no thread
    try_write(checkpoint);
  }
}

void CheckpointWriter::finish() {
  if (thread_.joinable()) thread_.join();
  if (problem_ != nullptr) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void make_room_for(const CheckpointFolder& folder, const std::function<void()>& write) {
  while (true) {
    try {
      return write();
    } catch (const IoError& error) {
      if (!error.is_full_disk()) throw;
      const auto removed = folder.remove_oldest();
      if (!removed.has_value()) throw;
      logger::warn(fmt::format("{}; removed the checkpoint of step {} and trying again",
                               error.what(), *removed));
    }
  }
}

}  // namespace causeway::train
