// Where a dump's batches go: one file of arrays, or a folder with a file a batch.
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

  // The batch that begins at dataset `at`, a tensor a column of the layout.
  virtual void put(std::int64_t at, const NamedTensors& columns) = 0;
  // The same back: of `n` datasets.
  virtual NamedTensors get(std::int64_t at, std::int64_t n) = 0;
  // Brings all to the disk.
  virtual void finish() = 0;
};

// "hdf5", "npz" or "folder", by the path's extension; throws invalid_argument for others.
std::string format_of(const std::filesystem::path& out);

// At `path`, which need not have the format's extension. With `is_new`, what is there goes.
std::unique_ptr<Sink> open_sink(const std::string& format, const std::filesystem::path& path,
                                const data::ArrayLayout& layout, bool is_new);

}  // namespace causeway::train
