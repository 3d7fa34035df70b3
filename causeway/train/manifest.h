// The manifest of a dump: what was requested and which batches are written. A killed run resumes
// from it.
#pragma once

#include "causeway/train/sample.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace causeway::train {

inline constexpr const char* kPriorGenerate = "prior.generate";  // in messages

struct Manifest {
  // The request.
  std::string format;  // hdf5, npz, parquet or folder
  std::string prior;   // PriorConfig::to_json
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::int64_t count = 0;
  Shard shard;
  std::string version;  // causeway version
  // The state.
  std::int64_t n_datasets = 0;
  std::int64_t batch = 1;
  bool complete = false;
  struct Record {
    std::uint64_t hash = 0;  // of its datasets' hashes
    std::uint32_t crc = 0;   // of the bytes written
  };
  std::vector<std::optional<Record>> batches;  // nullopt: not written yet

  std::int64_t n_batches() const { return n_datasets / batch + (n_datasets % batch != 0 ? 1 : 0); }
  std::int64_t size_of_batch(std::int64_t i) const {
    return std::min(batch, n_datasets - i * batch);
  }
  bool has_any() const;
  // The first part of the request that differs; "" if none does.
  std::string difference(const Manifest& other) const;

  void save(const std::filesystem::path& path) const;
  // nullopt if the file does not exist; throws a format error if it is damaged.
  static std::optional<Manifest> load(const std::filesystem::path& path);
};

// The version of this build.
std::string causeway_version();

}  // namespace causeway::train
