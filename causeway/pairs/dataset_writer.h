// Writes the files of a shard of kernel pairs, and the state from which a run resumes.
#pragma once

#include "causeway/core/append_file.h"
#include "causeway/core/config.h"
#include "causeway/data/zstd.h"
#include "causeway/pairs/dataset.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace causeway::pairs {

class DatasetWriter {
 public:
  // Continues what the folder holds. Throws if that is damaged, has other settings, or is being
  // written by another process. The configuration must outlive this.
  DatasetWriter(const DatasetConfig& config, const std::filesystem::path& folder, int shard,
                int shards);

  // The state from which a run resumes.
  struct Progress {
    std::uint64_t position = 0;  // the next candidate
    DatasetResult result;
    std::array<std::uint64_t, 3> bytes{};  // of the files of the splits
  };
  Progress progress;

  void add(const std::vector<Record>& records);
  void save() const;  // the progress
  // Writes the dataset card. Another shard may be saved at the same time: the card is written until
  // it is up to date.
  void finish() const;

 private:
  std::string shard_name() const;
  std::filesystem::path state_file() const;
  std::filesystem::path split_file(Split split) const;
  Json state() const;
  // The state files of all shards in the folder.
  std::vector<std::filesystem::path> state_files() const;
  std::string card() const;  // of the records of all shards
  void load();
  void take(const Json& json);

  const DatasetConfig& config_;
  std::filesystem::path folder_;
  int shard_;
  int shards_;
  std::optional<LockedFile> lock_;
  std::array<std::optional<AppendFile>, 3> files_;
  std::optional<ZstdCompressor> compressor_;
  std::array<std::string, 3> lines_;  // of a batch; their memory is used again
};

}  // namespace causeway::pairs
