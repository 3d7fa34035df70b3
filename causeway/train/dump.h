// Datasets of a prior written to disk, batch by batch: one .h5 or .npz with nanoTabPFN's keys, or a
// folder of .npz files, one a batch. The dump grows under the name <out>.partial and gets its own
// when it is whole; <out>.manifest.json says what it is and which batches stand. Run again, a
// dump's batches are checked against that, those that are right kept, and the rest made.
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
  std::filesystem::path out;  // *.h5, *.hdf5, *.npz, or a folder: no extension, or a "/" at the end
  std::uint64_t first = 0;
  std::int64_t count = 0;
  Shard shard;
  std::int64_t batch = 0;  // datasets made and written at a time; 0: Sample::good_batch
  bool overwrite = false;  // what is there goes, whatever it is
};

const ConfigDescription<DumpOptions>& describe_dump();

struct DumpResult {
  std::int64_t n_datasets = 0;
  std::int64_t n_kept = 0;     // that were there already
  std::int64_t n_damaged = 0;  // that were there, were not right, and were made again
};

// Told after every batch, in order: how many datasets stand, of how many, and the hashes of those
// that came in.
using OnBatch = std::function<void(std::int64_t done, std::int64_t total,
                                   std::span<const std::uint64_t> hashes)>;

// Keys: X (n, rows, features) and y (n, rows) f32, padded with 0; num_features, num_datapoints,
// single_eval_pos (rows before the split), num_classes (0: a numeric target) i32; index and hash
// i64 (the bits of an unsigned number); max_num_classes (1,), original_batch_size (1,),
// problem_type.
DumpResult dump(const prior::Prior& prior, const DumpOptions& options, const OnBatch& on_batch);

}  // namespace causeway::train
