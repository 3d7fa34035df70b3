// A folder of records: generated, resumed, read back.
#pragma once

#include "causeway/pairs/stream.h"

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace causeway::pairs {

enum class Format : std::uint8_t { json, jsonl, parquet };

struct DatasetConfig {
  std::int64_t count = 1000;
  std::uint64_t seed = 0;
  std::vector<std::string> categories = {};  // all where empty
  int lowest_level = 1;
  int highest_level = kLevels;
  std::vector<std::string> verify = {"run", "adjoint"};
  double twins = 0.25;
  double variants = 0;
  bool ptx = false;
  std::string exclude = {};  // a file of structures
  std::string device = "cuda";
  Format format = Format::jsonl;
  bool compress = true;  // JSON lines in Zstandard frames
  std::string shard = "0/1";

  StreamOptions stream(int threads) const;  // throws invalid_argument
};

struct DatasetProgress {
  std::int64_t written = 0;  // records of this shard so far
  std::int64_t count = 0;    // records of this shard in the end
  Rejections rejections{};
};

struct DatasetResult {
  std::int64_t written = 0;
  std::int64_t kept = 0;        // of them, found from an earlier run
  std::int64_t candidates = 0;  // of all shards
  Rejections rejections{};
  std::array<std::int64_t, 3> splits{};
  std::array<std::int64_t, kCategories> categories{};
};

// Writes the records to the folder: pair_000000.json …, or data/train-00000-of-00001.jsonl.zst and
// the files of the other splits, with a dataset card (README.md) and dataset.json, which holds the
// configuration and the progress. Shards may be written to one folder, also at the same time; each
// has its own files, and the card counts the records of all. A folder of an earlier run with the
// same configuration is completed: what a killed run wrote after its last note of progress is
// written again, with the same bytes. `report` is called between batches; it may throw to stop.
DatasetResult write_dataset(const DatasetConfig& config, const std::filesystem::path& folder,
                            int threads,
                            const std::function<void(const DatasetProgress&)>& report = {});

// Calls f(line, place) for every record of a file (.json, .jsonl, .jsonl.zst) or a dataset's
// folder, in order; `place` is "file:line". Throws io errors for what cannot be read.
void read_records(const std::filesystem::path& path,
                  const std::function<void(std::string_view, const std::string&)>& f);

}  // namespace causeway::pairs
