#include "causeway/train/dump.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/data/crc32.h"
#include "causeway/data/tensor_bytes.h"
#include "causeway/train/manifest.h"
#include "causeway/train/sink.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace causeway::train {

namespace {

data::ArrayLayout layout_of(const prior::PriorConfig& config, const Manifest& manifest) {
  data::ArrayLayout layout;
  layout.n_entries = manifest.n_datasets;
  layout.chunk = manifest.batch;
  layout.columns = {{"X", DType::f32, {config.rows.high, config.features.high}},
                    {"y", DType::f32, {config.rows.high}},
                    {"num_features", DType::i32, {}},
                    {"num_datapoints", DType::i32, {}},
                    {"single_eval_pos", DType::i32, {}},
                    {"num_classes", DType::i32, {}},
                    {"index", DType::i64, {}},
                    {"hash", DType::i64, {}}};
  layout.constants = {{"max_num_classes", config.regression ? 0 : config.classes.high, ""},
                      {"original_batch_size", manifest.batch, ""},
                      {"problem_type", 0, config.regression ? "regression" : "classification"}};
  return layout;
}

NamedTensors columns_of(const HostBatch& batch) {
  const auto n = static_cast<std::int64_t>(batch.facts.size());
  const auto numbers = [&](int prior::DatasetFacts::*field) {
    std::vector<std::int32_t> values;
    for (const prior::DatasetFacts& facts : batch.facts) values.push_back(facts.*field);
    return Tensor::from<std::int32_t>(values, {n});
  };
  std::vector<std::int64_t> index;
  std::vector<std::int64_t> hash;
  for (const prior::DatasetFacts& facts : batch.facts) {
    index.push_back(std::bit_cast<std::int64_t>(facts.index));
  }
  for (const std::uint64_t one : batch.hashes) hash.push_back(std::bit_cast<std::int64_t>(one));
  return {{"X", batch.x},
          {"y", batch.y},
          {"num_features", numbers(&prior::DatasetFacts::n_features)},
          {"num_datapoints", numbers(&prior::DatasetFacts::n_rows)},
          {"single_eval_pos", numbers(&prior::DatasetFacts::n_train)},
          {"num_classes", numbers(&prior::DatasetFacts::n_classes)},
          {"index", Tensor::from<std::int64_t>(index, {n})},
          {"hash", Tensor::from<std::int64_t>(hash, {n})}};
}

std::uint32_t crc_of(const NamedTensors& columns) {
  std::uint32_t crc = 0;
  for (const auto& [name, values] : columns) {
    crc = data::crc32(data::bytes_of(data::packed_on_host(values)), crc);
  }
  return crc;
}

std::vector<std::uint64_t> hashes_in(const NamedTensors& columns) {
  std::vector<std::uint64_t> hashes;
  for (const std::int64_t one : columns.back().second.to_vector<std::int64_t>()) {
    hashes.push_back(std::bit_cast<std::uint64_t>(one));
  }
  return hashes;
}

class Dump {
 public:
  Dump(const prior::Prior& prior, const DumpOptions& options, const OnBatch& on_batch)
      : options_(options),
        on_batch_(on_batch),
        sample_(prior, options.first, options.count, options.shard),
        out_(options.out) {
    if (!out_.has_filename()) out_ = out_.parent_path();
    manifest_.format = format_of(out_);
    manifest_.prior = prior.config().to_json();
    manifest_.seed = prior.config().seed;
    manifest_.first = options.first;
    manifest_.count = options.count;
    manifest_.shard = options.shard;
    manifest_.version = causeway_version();
    manifest_.n_datasets = sample_.size();
    manifest_.batch =
        std::clamp<std::int64_t>(options.batch > 0 ? options.batch : sample_.default_batch(), 1,
                                 std::max<std::int64_t>(sample_.size(), 1));
    load_manifest();
    layout_ = layout_of(prior.config(), manifest_);
    result_.n_datasets = manifest_.n_datasets;
  }

  DumpResult run() {
    const bool is_complete = !options_.overwrite && exists(out_) && !exists(partial());
    if (is_complete && is_intact(out_)) return result_;
    if (is_complete) rename(out_, partial());
    const bool resumes = exists(partial()) && manifest_.has_any();
    const auto sink = open(partial(), !resumes);
    for (std::int64_t i = 0; i < manifest_.n_batches(); ++i) keep_or_generate(*sink, i);
    manifest_.save(manifest_path());
    sink->finish();
    std::error_code ignored;  // the rename reports the error
    if (manifest_.format == "folder") std::filesystem::remove_all(out_, ignored);
    rename(partial(), out_);
    manifest_.complete = true;
    manifest_.save(manifest_path());
    return result_;
  }

 private:
  const DumpOptions& options_;
  const OnBatch& on_batch_;
  Sample sample_;
  std::filesystem::path out_;
  Manifest manifest_;
  data::ArrayLayout layout_;
  DumpResult result_;
  std::int64_t done_ = 0;
  std::chrono::steady_clock::time_point next_save_;

  std::filesystem::path partial() const { return out_.string() + ".partial"; }
  std::filesystem::path manifest_path() const { return out_.string() + ".manifest.json"; }

  static bool exists(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  }

  static void rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail_io(kPriorGenerate, "write", to, errno);
  }

  // Continues the dump of an earlier run with the same request.
  void load_manifest() {
    const auto old = options_.overwrite ? std::nullopt : Manifest::load(manifest_path());
    if (old) {
      const std::string difference = old->difference(manifest_);
      if (!difference.empty()) {
        fail(ErrorKind::invalid_argument, kPriorGenerate,
             fmt::format("\"{}\" holds another dump, with another {}; choose another name, "
                         "or add --overwrite",
                         out_.string(), difference));
      }
      manifest_ = *old;
      manifest_.complete = false;
    } else {
      if (!options_.overwrite && exists(out_)) {
        fail(ErrorKind::invalid_argument, kPriorGenerate,
             fmt::format("\"{}\" exists without its manifest \"{}\"; choose another name, "
                         "or add --overwrite",
                         out_.string(), manifest_path().string()));
      }
      manifest_.batches.resize(static_cast<std::size_t>(manifest_.n_batches()));
    }
  }

  std::unique_ptr<Sink> open(const std::filesystem::path& path, bool is_new) const {
    try {
      return open_sink(manifest_.format, path, layout_, is_new);
    } catch (const Error& error) {
      if (is_new || error.kind() != ErrorKind::format) throw;
      fail(ErrorKind::format, kPriorGenerate,
           fmt::format("the dump is damaged: {}; add --overwrite to generate it again",
                       error.message()));
    }
  }

  // Reads batch i; empty unless its CRC is the manifest's.
  NamedTensors verified(Sink& sink, std::int64_t i) const {
    const auto& record = manifest_.batches[static_cast<std::size_t>(i)];
    if (!record) return {};
    try {
      NamedTensors columns = sink.get(i * manifest_.batch, manifest_.size_of_batch(i));
      if (crc_of(columns) == record->crc) return columns;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::format && error.kind() != ErrorKind::io) throw;
    }
    return {};
  }

  // Whether every batch of a complete dump verifies; reports them as kept if so.
  bool is_intact(const std::filesystem::path& path) {
    const auto sink = open(path, false);
    for (std::int64_t i = 0; i < manifest_.n_batches(); ++i) {
      if (verified(*sink, i).empty()) return false;
    }
    for (std::int64_t i = 0; i < manifest_.n_batches(); ++i) {
      note_kept(i, sink->get(i * manifest_.batch, manifest_.size_of_batch(i)));
    }
    manifest_.complete = true;
    manifest_.save(manifest_path());
    return true;
  }

  void note_kept(std::int64_t i, const NamedTensors& columns) {
    result_.n_kept += manifest_.size_of_batch(i);
    report(i, hashes_in(columns));
  }

  void report(std::int64_t i, std::span<const std::uint64_t> hashes) {
    done_ += manifest_.size_of_batch(i);
    on_batch_(done_, manifest_.n_datasets, hashes);
  }

  void keep_or_generate(Sink& sink, std::int64_t i) {
    auto& record = manifest_.batches[static_cast<std::size_t>(i)];
    const NamedTensors kept = verified(sink, i);
    if (!kept.empty()) return note_kept(i, kept);
    if (record) result_.n_damaged += manifest_.size_of_batch(i);
    const std::int64_t at = i * manifest_.batch;
    const HostBatch batch = sample_.generate(at, manifest_.size_of_batch(i));
    const NamedTensors columns = columns_of(batch);
    sink.put(at, columns);
    record = {prior::hash_all(batch.hashes), crc_of(columns)};
    save_manifest();
    report(i, batch.hashes);
  }

  // Skips saves that would take more than a tenth of the time.
  void save_manifest() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_save_) return;
    manifest_.save(manifest_path());
    const auto end = std::chrono::steady_clock::now();
    next_save_ = end + 10 * (end - now);
  }
};

}  // namespace

const ConfigDescription<DumpOptions>& describe_dump() {
  static const auto description = [] {
    ConfigDescription<DumpOptions> d("prior.generate");
    d.add("count", &DumpOptions::count, "Number of datasets").at_least(1).defaults_to("required");
    d.add("first", &DumpOptions::first, "Index of the first dataset");
    d.custom(
        "shard", &DumpOptions::shard, "I/N",
        +[](const Shard& shard) { return Json(shard.to_string()); },
        +[](const Json& json, Shard& shard) {
          try {
            shard = Shard::parse(json.is_string() ? json.get<std::string>() : "");
          } catch (const Error&) {
            throw ValueExpected{"I/N with I from 0 to N - 1"};
          }
        },
        "Of N shards, write shard I: the datasets k with k % N = I");
    d.add("batch", &DumpOptions::batch, "Datasets generated together")
        .at_least(1)
        .optional()
        .defaults_to("chosen by size");
    d.add("overwrite", &DumpOptions::overwrite, "Start over and replace what is at --out")
        .option_only();
    return d;
  }();
  return description;
}

DumpResult dump(const prior::Prior& prior, const DumpOptions& options, const OnBatch& on_batch) {
  if (options.count < 1) {
    fail(ErrorKind::invalid_argument, kPriorGenerate,
         fmt::format("count {}: expected 1 or more", options.count));
  }
  return Dump(prior, options, on_batch).run();
}

}  // namespace causeway::train
