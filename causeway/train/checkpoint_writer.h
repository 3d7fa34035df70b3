// Writes checkpoints in a thread of its own, so that training waits only while its state is copied
// to host memory.
#pragma once

#include "causeway/train/checkpoint.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace causeway::train {

class CheckpointWriter {
 public:
  // `saved` receives the step of each checkpoint that was written. Both must outlive this.
  CheckpointWriter(const CheckpointFolder& folder, std::atomic<std::int64_t>& saved)
      : folder_(folder), saved_(saved) {}
  // Waits for the checkpoint that is being written.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the previous checkpoint, copies the tensors, and starts to write. On an io error
  // (a full disk, after old checkpoints were removed) there is a warning and no checkpoint. Where
  // host memory is limited or too small for a copy, it writes before it returns.
  void start(const Checkpoint& checkpoint);
  // Waits. Throws errors of the thread other than io errors.
  void finish();

  // In this thread; removes old checkpoints from a full disk, and throws if that is not enough.
  void write(const Checkpoint& checkpoint) const;

 private:
  void try_write(const Checkpoint& checkpoint) const;

  const CheckpointFolder& folder_;
  std::atomic<std::int64_t>& saved_;
  std::thread thread_;
  std::exception_ptr problem_;  // of the thread
};

// Calls `write` and, on a full disk, removes old checkpoints until it succeeds or none can be
// removed.
void make_room_for(const CheckpointFolder& folder, const std::function<void()>& write);

}  // namespace causeway::train
