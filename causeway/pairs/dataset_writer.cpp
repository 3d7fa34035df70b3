#include "causeway/pairs/dataset_writer.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/version.h"
#include "causeway/pairs/card.h"
#include "causeway/pairs/dataset_json.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>

namespace causeway::pairs {

namespace {

constexpr std::string_view kWriter = "pairs";  // in messages

[[noreturn]] void refuse(const std::string& text) {
  fail(ErrorKind::invalid_argument, kWriter, text);
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  FileWriter file(kWriter, path);
  file.write(text);
  file.commit();
}

// What dataset.json, or the file of a shard, holds. Throws if it is damaged.
Json read_state(const std::filesystem::path& path) {
  const MappedFile file(kWriter, path);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  Json json = Json::parse(text, text + file.bytes().size(), nullptr, false);
  if (json.is_discarded() || !json.contains("config") || !json.contains("position"))
    refuse(fmt::format("\"{}\" is damaged; remove the folder and start again", path.string()));
  return json;
}

// The settings that all shards of a dataset share.
Json shared_settings(const Json& state) {
  Json config = state["config"];
  const std::string shard = config["shard"];
  config["shard"] = shard.substr(shard.find('/') + 1);
  config.erase("count");
  return {config, state["generator"], state["schema"]};
}

}  // namespace

DatasetWriter::DatasetWriter(const DatasetConfig& config, const std::filesystem::path& folder,
                             int shard, int shards)
    : config_(config), folder_(folder), shard_(shard), shards_(shards) {
  std::filesystem::create_directories(config.format == Format::jsonl ? folder / "data" : folder);
  lock_.emplace(kWriter, folder / (".lock" + shard_name()), true);
  load();
  if (config.format == Format::jsonl) {
    for (std::size_t i = 0; i < 3; ++i) {
      files_[i].emplace(kWriter, split_file(static_cast<Split>(i)));
      if (files_[i]->size() < progress.bytes[i])
        refuse(fmt::format(
            "\"{}\" is shorter than when it was written; remove the folder and start again",
            split_file(static_cast<Split>(i)).string()));
      files_[i]->cut(progress.bytes[i]);
    }
    if (config.compress) compressor_.emplace();
  }
}

void DatasetWriter::add(const std::vector<Record>& records) {
  for (const Record& record : records) {
    const auto split = static_cast<std::size_t>(record.structure.split());
    std::string& text = lines_[split];
    text = to_json(record, config_.device, std::move(text));
    text += '\n';
    if (config_.format == Format::json) {
      // Not flushed to disk: files after the last note of progress are written again.
      const std::int64_t number = progress.result.written * shards_ + shard_;
      const std::filesystem::path path = folder_ / fmt::format("pair_{:06d}.json", number);
      std::ofstream file(path, std::ios::binary);
      file << text;
      if (!file.flush()) fail_io(kWriter, "write", path, errno);
      text.clear();
    }
    ++progress.result.written;
    ++progress.result.splits[split];
    ++progress.result.categories[static_cast<std::size_t>(record.program.category)];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (lines_[i].empty()) continue;
    files_[i]->add(compressor_ ? compressor_->compress(lines_[i]) : lines_[i]);
    progress.bytes[i] = files_[i]->size();
    lines_[i].clear();
  }
}

void DatasetWriter::save() const { write_text(state_file(), state().dump(1) + "\n"); }

void DatasetWriter::finish() const {
  std::string written;
  for (std::string text = card(); text != written; text = card()) {
    write_text(folder_ / "README.md", text);
    written = text;
  }
}

std::string DatasetWriter::shard_name() const {
  return shards_ == 1 ? "" : fmt::format("-{:05d}-of-{:05d}", shard_, shards_);
}

std::filesystem::path DatasetWriter::state_file() const {
  return folder_ / ("dataset" + shard_name() + ".json");
}

Json DatasetWriter::state() const {
  return {{"generator", std::string("causeway ") + kVersion},
          {"schema", kSchemaVersion},
          {"config", describe_dataset().to_json(&config_)},
          {"position", progress.position},
          {"written", progress.result.written},
          {"bytes", progress.bytes},
          {"rejections", progress.result.rejections},
          {"splits", progress.result.splits},
          {"categories", progress.result.categories}};
}

std::vector<std::filesystem::path> DatasetWriter::state_files() const {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name == "dataset.json" || (name.starts_with("dataset-") && name.ends_with(".json")))
      files.push_back(entry.path());
  }
  return files;
}

std::string DatasetWriter::card() const {
  DatasetResult all;
  const auto add = [](auto& sums, const Json& counts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i].get<std::int64_t>();
  };
  for (const std::filesystem::path& file : state_files()) {
    const Json shard = read_state(file);
    all.written += shard["written"].get<std::int64_t>();
    add(all.splits, shard["splits"]);
    add(all.categories, shard["categories"]);
  }
  return dataset_card(config_, all);
}

std::filesystem::path DatasetWriter::split_file(Split split) const {
  return folder_ / "data" /
         fmt::format("{}-{:05d}-of-{:05d}.jsonl{}", name_of(split), shard_, shards_,
                     config_.compress ? ".zst" : "");
}

void DatasetWriter::load() {
  const Json wanted = shared_settings(state());
  for (const std::filesystem::path& file : state_files()) {
    const Json json = read_state(file);
    const bool mine = file == state_file();
    const bool fewer = mine && json["config"]["count"] > config_.count;
    if (shared_settings(json) != wanted || fewer)
      refuse(fmt::format("\"{}\" holds a dataset with other settings; choose another folder",
                         folder_.string()));
    if (mine) take(json);
  }
}

void DatasetWriter::take(const Json& json) {
  progress.position = json["position"];
  progress.bytes = json["bytes"];
  progress.result.written = progress.result.kept = json["written"];
  progress.result.rejections = json["rejections"];
  progress.result.splits = json["splits"];
  progress.result.categories = json["categories"];
}

}  // namespace causeway::pairs
