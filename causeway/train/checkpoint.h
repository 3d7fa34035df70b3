// Checkpoints of a run: <run>/checkpoints/step-00001200/ with a .safetensors file for each set of
// tensors and manifest.json, which tells what they are and holds the hash of each file and its own.
// A kill at any moment leaves a checkpoint whole or not there; damage is found before it is used.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace causeway::train {

// All that a run needs to go on as if it had not stopped.
struct Snapshot {
  std::int64_t step = 0;      // steps taken
  std::int64_t datasets = 0;  // seen
  std::optional<double> score;
  std::string random = "{}";         // JSON: the state of random number generators
  std::string progress = "{}";       // JSON: seconds of training, the last loss, …
  std::string configuration = "{}";  // JSON
  // By set, "model", "optimizer", …: lower-case letters, digits, "_" and "-".
  std::map<std::string, std::map<std::string, Tensor>> tensors;
};

struct CheckpointInfo {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  std::optional<double> score;
  std::uint64_t n_bytes = 0;  // of all tensors' files
  std::string version;        // of the causeway that wrote it
  std::string date;           // UTC, "2026-01-31T23:59:59Z"
};

struct CheckpointOptions {
  std::size_t keep_last = 3;  // checkpoints that stay, 1 or more; the best stays too
  bool high_scores_win = false;
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(const std::filesystem::path& run,
                            const CheckpointOptions& options = {});

  // Throws what a save would, where nothing can be written here; before training rather than after.
  void prepare() const;

  // Writes a checkpoint, in the place of one of the same step if there is one, and then removes
  // older ones: up to this step the last `keep_last` stay. Scores that are not finite count as
  // none. After an io error (a full disk) everything is as before, and training may go on.
  CheckpointInfo save(const Snapshot& snapshot) const;

  // The checkpoint of the highest step that is whole; those passed over are named in warnings with
  // what is wrong with them. Nothing where no checkpoint was ever written; throws a format error
  // where there are some and none can be used.
  std::optional<Snapshot> load_newest(Device device = Device::cpu()) const;
  // Throws io errors for what is missing, format errors for what is damaged or of a newer version.
  Snapshot load(std::int64_t step, Device device = Device::cpu()) const;

  // Those that look whole, by step; of the files only the sizes are looked at.
  std::vector<CheckpointInfo> list() const;
  // Of these the one with the best score, the later of two alike; nothing where none has a score.
  std::optional<CheckpointInfo> best() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_of(std::int64_t step) const;
  std::vector<std::int64_t> steps() const;
  const CheckpointInfo* best_of(const std::vector<CheckpointInfo>& all) const;
  void prune(std::int64_t step) const;

  std::filesystem::path path_;
  CheckpointOptions options_;
};

}  // namespace causeway::train
