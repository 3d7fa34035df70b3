#include "causeway/train/checkpoint.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/folder_writer.h"
#include "causeway/core/log.h"
#include "causeway/core/shown.h"
#include "causeway/data/safetensors.h"
#include "causeway/data/sha256.h"
#include "causeway/train/checkpoint_manifest.h"
#include "causeway/train/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <span>

namespace causeway::train {

namespace {

constexpr const char* kSave = "checkpoint.save";
constexpr const char* kLoad = "checkpoint.load";
constexpr std::string_view kStepPrefix = "step-";

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

CheckpointManifest manifest_of(const Checkpoint& checkpoint) {
  CheckpointManifest manifest;
  manifest.step = checkpoint.step;
  manifest.datasets = checkpoint.datasets;
  manifest.score = checkpoint.score;
  manifest.random = checkpoint.random;
  manifest.progress = checkpoint.progress;
  manifest.configuration = checkpoint.configuration;
  manifest.version = causeway_version();
  manifest.date = date_now();
  return manifest;
}

CheckpointInfo info_of(const std::filesystem::path& path, const CheckpointManifest& manifest) {
  CheckpointInfo info{path, manifest.step,    manifest.datasets, manifest.score,
                      0,    manifest.version, manifest.date};
  if (info.score && !std::isfinite(*info.score)) info.score.reset();
  for (const CheckpointManifest::File& file : manifest.files) info.n_bytes += file.n_bytes;
  return info;
}

// Hashes the bytes in memory, so that a faulty disk is detected.
CheckpointManifest::File write_set(const std::filesystem::path& folder, const std::string& set,
                                   const std::map<std::string, Tensor>& tensors) {
  CheckpointManifest::File file{set, 0, ""};
  data::Sha256 hash;
  FileWriter writer(kSave, folder / file.name());
  const auto sink = [&](std::span<const std::byte> piece) {
    hash.add(piece);
    writer.write(piece);
    file.n_bytes += piece.size();
  };
  write_safetensors(sink, tensors);
  writer.commit();
  file.sha256 = hash.hex();
  return file;
}

CheckpointManifest read_manifest(const std::filesystem::path& folder, std::int64_t step) {
  const std::filesystem::path path = folder / kCheckpointManifest;
  const MappedFile file(kLoad, path);
  const auto bytes = file.bytes();
  CheckpointManifest manifest = file.read_whole([&] {
    return CheckpointManifest::parse(path,
                                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  if (manifest.step != step) {
    fail(
        ErrorKind::format, kLoad,
        fmt::format("\"{}\" is the manifest of step {}; the folder was renamed, or the file copied",
                    path.string(), manifest.step));
  }
  return manifest;
}

void check_size(const std::filesystem::path& path, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return;
  fail(ErrorKind::format, kLoad,
       fmt::format("\"{}\" is damaged: {}, {} bytes instead of {}", path.string(),
                   found < expected ? "truncated" : "too long", found, expected));
}

std::map<std::string, Tensor> read_set(const std::filesystem::path& folder,
                                       const CheckpointManifest::File& expected, Device device) {
  const std::filesystem::path path = folder / expected.name();
  const MappedFile file(kLoad, path);
  check_size(path, file.bytes().size(), expected.n_bytes);
  if (file.read_whole([&] { return data::sha256(file.bytes()); }) != expected.sha256) {
    fail(ErrorKind::format, kLoad,
         fmt::format("\"{}\" is damaged: its SHA-256 differs from the manifest's", path.string()));
  }
  return with_context(fmt::format("reading \"{}\"", path.string()), [&] {
    return file.read_whole([&] { return read_safetensors(file.bytes(), device).tensors; });
  });
}

Checkpoint read_checkpoint(const std::filesystem::path& folder, std::int64_t step, Device device) {
  CheckpointManifest manifest = read_manifest(folder, step);
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.datasets = manifest.datasets;
  checkpoint.score = manifest.score;
  checkpoint.random = std::move(manifest.random);
  checkpoint.progress = std::move(manifest.progress);
  checkpoint.configuration = std::move(manifest.configuration);
  for (const CheckpointManifest::File& file : manifest.files) {
    checkpoint.tensors[file.set] = read_set(folder, file, device);
  }
  return checkpoint;
}

// Errors for which load_newest tries the next checkpoint.
bool is_damage(const Error& error) {
  return error.kind() == ErrorKind::format || error.kind() == ErrorKind::io;
}

// True for a dangling link too.
bool has_entry(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::filesystem::path& run,
                                   const CheckpointOptions& options)
    : path_(run / "checkpoints"), options_(options) {
  if (options.keep_last == 0) {
    fail(ErrorKind::invalid_argument, "checkpoint", "keep_last must be 1 or more");
  }
}

std::filesystem::path CheckpointFolder::path_of(std::int64_t step) const {
  return path_ / fmt::format("{}{:08}", kStepPrefix, step);
}

// Steps of all checkpoints, complete or not, ascending.
std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kStepPrefix)) continue;
    std::int64_t step = -1;
    std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
    if (step >= 0 && path_of(step).filename() == name) found.push_back(step);
  }
  if (error) fail_io(kLoad, "read", path_, error.value());
  std::sort(found.begin(), found.end());
  return found;
}

void CheckpointFolder::check_writable() const { const FolderWriter trial(kSave, path_of(0)); }

CheckpointInfo CheckpointFolder::save(const Checkpoint& checkpoint) const {
  if (checkpoint.step < 0) fail(ErrorKind::invalid_argument, kSave, "the step is negative");
  CheckpointManifest manifest = manifest_of(checkpoint);
  manifest.to_text();  // throws for bad arguments before gigabytes are written
  for (const auto& [set, tensors] : checkpoint.tensors) {
    if (is_set_name(set)) continue;
    fail(ErrorKind::invalid_argument, kSave,
         fmt::format("bad name of a set of tensors: {}; use lower-case letters, digits, \"_\" "
                     "and \"-\"",
                     shown(set)));
  }
  const std::filesystem::path path = path_of(checkpoint.step);
  FolderWriter folder(kSave, path);
  for (const auto& [set, tensors] : checkpoint.tensors) {
    manifest.files.push_back(write_set(folder.partial(), set, tensors));
  }
  FileWriter writer(kSave, folder.partial() / kCheckpointManifest);
  writer.write(manifest.to_text());
  writer.commit();
  folder.commit();
  prune(checkpoint.step);
  return info_of(path, manifest);
}

// Leaves checkpoints of later steps, which another run from the same checkpoint wrote, and
// incomplete ones.
void CheckpointFolder::prune(std::int64_t step) const {
  const std::vector<CheckpointInfo> all = list();
  const CheckpointInfo* best = best_of(all);
  std::size_t n_kept = 0;
  for (auto info = all.rbegin(); info != all.rend(); ++info) {
    if (info->step > step || n_kept++ < options_.keep_last || &*info == best) continue;
    try {
      remove_folder(kSave, info->path);
    } catch (const Error& error) {
      logger::warn(error.what());
    }
  }
}

std::optional<std::int64_t> CheckpointFolder::remove_oldest() const {
  const std::vector<CheckpointInfo> all = list();
  const CheckpointInfo* best = best_of(all);
  for (const CheckpointInfo& info : all) {
    if (&info == best || &info == &all.back()) continue;
    return remove_folder(kSave, info.path) ? std::optional(info.step) : std::nullopt;
  }
  return std::nullopt;
}

Checkpoint CheckpointFolder::load(std::int64_t step, Device device) const {
  return read_checkpoint(path_of(step), step, device);
}

std::optional<Checkpoint> CheckpointFolder::load_newest(Device device) const {
  std::vector<std::int64_t> left = steps();
  std::string problems;
  std::size_t n_damaged = 0;
  std::int64_t tried_again = -1;
  while (!left.empty()) {
    const std::int64_t step = left.back();
    left.pop_back();
    try {
      return load(step, device);
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      if (!has_entry(path_of(step))) {  // another process removed it after it wrote a newer one
        left = steps();
        problems.clear();
        n_damaged = 0;
        continue;
      }
      if (tried_again != step) {  // another process may have replaced it while it was read
        tried_again = step;
        left.push_back(step);
        continue;
      }
      logger::warn(fmt::format("{}; skipped the checkpoint of step {}", error.what(), step));
      problems += fmt::format("\n  step {}: {}", step, error.what());
      ++n_damaged;
    }
  }
  if (n_damaged == 0) return std::nullopt;
  fail(ErrorKind::format, kLoad,
       fmt::format("none of the {} checkpoints in \"{}\" can be used; restore one from a backup, "
                   "or start a new run in another folder:{}",
                   n_damaged, path_.string(), problems));
}

std::vector<CheckpointInfo> CheckpointFolder::list() const {
  std::vector<CheckpointInfo> complete;
  for (const std::int64_t step : steps()) {
    const std::filesystem::path path = path_of(step);
    try {
      const CheckpointManifest manifest = read_manifest(path, step);
      for (const CheckpointManifest::File& file : manifest.files) {
        std::error_code missing;
        check_size(path / file.name(), std::filesystem::file_size(path / file.name(), missing),
                   file.n_bytes);
      }
      complete.push_back(info_of(path, manifest));
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
    }
  }
  return complete;
}

const CheckpointInfo* CheckpointFolder::best_of(const std::vector<CheckpointInfo>& all) const {
  const CheckpointInfo* best = nullptr;
  for (const CheckpointInfo& info : all) {
    if (!info.score) continue;
    const bool is_better =
        best == nullptr ||
        (options_.higher_is_better ? *info.score >= *best->score : *info.score <= *best->score);
    if (is_better) best = &info;
  }
  return best;
}

std::optional<CheckpointInfo> CheckpointFolder::best() const {
  const std::vector<CheckpointInfo> all = list();
  const CheckpointInfo* found = best_of(all);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace causeway::train
