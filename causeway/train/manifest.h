// What a dump of datasets is and how far it got: the file beside it that a killed run goes on from.
#pragma once

#include "causeway/train/sample.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace causeway::train {

struct Manifest {
  // What was asked for.
  std::string format;  // hdf5, npz or folder
  std::string prior;   // PriorConfig::to_json
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::int64_t count = 0;
  Shard shard;
  std::string version;  // of causeway
  // What came of it.
  std::int64_t n_datasets = 0;
  std::int64_t batch = 1;
  bool complete = false;
  struct Record {
    std::uint64_t hash = 0;  // over its datasets' hashes
    std::uint32_t crc = 0;   // of the bytes written
  };
  std::vector<std::optional<Record>> batches;  // nothing for those still to be made

  std::int64_t n_batches() const { return (n_datasets + batch - 1) / batch; }
  std::int64_t size_of_batch(std::int64_t i) const {
    return std::min(batch, n_datasets - i * batch);
  }
  bool has_any() const;
  // Which of the things asked for differ; "" where none does.
  std::string difference(const Manifest& other) const;

  void save(const std::filesystem::path& path) const;
  // Nothing where there is none; throws a format error for one that is damaged.
  static std::optional<Manifest> load(const std::filesystem::path& path);
};

// Of this build.
std::string causeway_version();

}  // namespace causeway::train
