// Writes datasets of a prior to disk, batch by batch: one .h5, .npz or .parquet file with
// nanoTabPFN's keys, or a folder with one .npz file per batch. The dump is written to <out>.partial
// and renamed when it is complete; <out>.manifest.json describes it and lists the batches written.
// A repeated run verifies those batches, keeps the intact ones and generates the rest.
#pragma once

#include "causeway/train/sample.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::train {

struct DumpOptions {
  std::filesystem::path
      out;  // *.h5, *.hdf5, *.npz, *.parquet, or a folder: no extension, or a "/" at the end
  std::uint64_t first = 0;
  std::int64_t count = 0;
  Shard shard;
  std::int64_t batch = 0;  // datasets generated and written together; 0: default_batch
  bool overwrite = false;  // replaces what exists at `out`
};

const ConfigDescription<DumpOptions>& describe_dump();

struct DumpResult {
  std::int64_t n_datasets = 0;
  std::int64_t n_kept = 0;     // from an earlier run
  std::int64_t n_damaged = 0;  // from an earlier run, failed the check and were generated again
};

// Called after every batch, in order, with the number of datasets done, the total, and the hashes
// of the batch's datasets.
using OnBatch = std::function<void(std::int64_t done, std::int64_t total,
                                   std::span<const std::uint64_t> hashes)>;

// Keys: X (n, rows, features) and y (n, rows) f32, padded with 0; num_features, num_datapoints,
// single_eval_pos (number of context rows), num_classes (0: regression) i32; index and hash i64
// (bits of a u64); max_num_classes (1,), original_batch_size (1,),
// problem_type.
DumpResult dump(const prior::Prior& prior, const DumpOptions& options, const OnBatch& on_batch);

}  // namespace causeway::train
