// The output of a dump: one file of arrays, or a folder with one file per batch.
#pragma once

#include "causeway/data/array_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace causeway::train {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Writes the batch that begins at dataset `at`, one tensor per column of the layout.
  virtual void put(std::int64_t at, const NamedTensors& columns) = 0;
  // Reads it back: `n` datasets.
  virtual NamedTensors get(std::int64_t at, std::int64_t n) = 0;
  // Syncs everything to disk.
  virtual void finish() = 0;
};

// "hdf5", "npz", "parquet" or "folder", by the path's extension; throws invalid_argument for
// others.
std::string format_of(const std::filesystem::path& out);

// `path` need not have the format's extension. `is_new` replaces what exists there.
std::unique_ptr<Sink> open_sink(const std::string& format, const std::filesystem::path& path,
                                const data::ArrayLayout& layout, bool is_new);

}  // namespace causeway::train
