// Checkpoints of a run: <run>/checkpoints/step-00001200/ with a .safetensors file for each set of
// tensors and manifest.json, which describes them and holds the SHA-256 of each file and its own.
// A process killed at any moment leaves a complete checkpoint or none; loading verifies the hashes.
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

// Everything needed to resume a run.
struct Checkpoint {
  std::int64_t step = 0;      // steps taken
  std::int64_t datasets = 0;  // trained on
  std::optional<double> score;
  std::string random = "{}";         // JSON: the state of random number generators
  std::string progress = "{}";       // JSON: seconds of training, the last loss, …
  std::string configuration = "{}";  // JSON
  // By set ("model", "optimizer", …), whose name has lower-case letters, digits, "_" and "-".
  std::map<std::string, std::map<std::string, Tensor>> tensors;
};

struct CheckpointInfo {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  std::optional<double> score;
  std::uint64_t n_bytes = 0;  // total size of the tensor files
  std::string version;        // causeway version that wrote it
  std::string date;           // UTC, "2026-01-31T23:59:59Z"
};

struct CheckpointOptions {
  std::size_t keep_last = 3;      // checkpoints kept, 1 or more; the best one is kept too
  bool higher_is_better = false;  // scores
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(const std::filesystem::path& run,
                            const CheckpointOptions& options = {});

  // Throws the error that save would throw if the folder is not writable. Call it before training.
  void check_writable() const;

  // Writes a checkpoint, replacing one of the same step, then removes older ones: of the
  // checkpoints up to this step, the last `keep_last` and the best are kept. A score that is not
  // finite counts as no score. After an io error (a full disk) the folder is unchanged.
  CheckpointInfo save(const Checkpoint& checkpoint) const;

  // Makes room on a full disk: removes the oldest checkpoint, but neither the newest nor the best.
  // Returns its step; nullopt if none could be removed.
  std::optional<std::int64_t> remove_oldest() const;

  // The newest checkpoint that verifies; skipped ones are named in warnings, with the reason.
  // nullopt if there are no checkpoints; throws a format error if there are some and none verifies.
  std::optional<Checkpoint> load_newest(Device device = Device::cpu()) const;
  // Throws io errors for missing files, format errors for damaged ones and newer formats.
  Checkpoint load(std::int64_t step, Device device = Device::cpu()) const;

  // Checkpoints whose manifest verifies and whose files have the right size, by step. Does not hash
  // the files.
  std::vector<CheckpointInfo> list() const;
  // The checkpoint of list() with the best score, the later of equal ones; nullopt without scores.
  std::optional<CheckpointInfo> best() const;

  const std::filesystem::path& path() const { return path_; }
  // The folder of a step's checkpoint.
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  std::vector<std::int64_t> steps() const;
  const CheckpointInfo* best_of(const std::vector<CheckpointInfo>& all) const;
  void prune(std::int64_t step) const;

  std::filesystem::path path_;
  CheckpointOptions options_;
};

}  // namespace causeway::train
