#include "causeway/train/checkpoint_manifest.h"

#include "causeway/core/error.h"
#include "causeway/core/integer_json.h"
#include "causeway/data/sha256.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace causeway::train {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCheckpointKind = "causeway checkpoint";
constexpr std::int64_t kFormat = 1;

// The manifest ends with its own SHA-256, computed over the text with zeros in place of the digits.
constexpr std::size_t kDigits = 64;
constexpr std::string_view kAfterHash = "\"\n}\n";

std::string hash_with_zeroed_digits(std::string text) {
  text.replace(text.size() - kAfterHash.size() - kDigits, kDigits, kDigits, '0');
  return data::sha256(std::as_bytes(std::span(text)));
}

Json parse_json(std::string_view what, const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& problem) {
    fail(ErrorKind::invalid_argument, "checkpoint.save",
         fmt::format("the {} is not JSON: {}", what, problem.what()));
  }
}

void require(bool holds, const char* problem) {
  if (!holds) throw Json::other_error::create(600, problem, nullptr);
}

CheckpointManifest checkpoint_from_json(const Json& json) {
  CheckpointManifest manifest;
  manifest.version = json.at("causeway").get<std::string>();
  manifest.date = json.at("date").get<std::string>();
  manifest.step = integer_from_json<std::int64_t>(json.at("step"));
  manifest.datasets = integer_from_json<std::int64_t>(json.at("datasets"));
  if (!json.at("score").is_null()) manifest.score = json.at("score").get<double>();
  manifest.random = json.at("random").dump();
  // Version 0.1.0 stored it in "random".
  manifest.progress = json.contains("progress") ? json.at("progress").dump() : manifest.random;
  manifest.configuration = json.at("configuration").dump();
  for (const auto& [set, file] : json.at("files").items()) {
    require(is_set_name(set), "a set of tensors has an invalid name");
    manifest.files.push_back({set, integer_from_json<std::uint64_t>(file.at("bytes")),
                              file.at("sha256").get<std::string>()});
  }
  return manifest;
}

// Reads only the keys that every format keeps.
void check_version(const std::filesystem::path& path, const Json& json) {
  require(json.is_object() && json.value("what", "") == kCheckpointKind,
          "it is not the manifest of a checkpoint");
  const auto format = integer_from_json<std::int64_t>(json.at("format"));
  if (format <= kFormat) return;
  fail(ErrorKind::format, "checkpoint.load",
       fmt::format("\"{}\" has a newer format ({}, written by causeway {}; this version reads "
                   "format {}); update causeway",
                   path.string(), format, json.value("causeway", "unknown"), kFormat));
}

}  // namespace

bool is_set_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string CheckpointManifest::to_text() const {
  const bool has_score = score && std::isfinite(*score);
  Json json{{"what", kCheckpointKind},
            {"format", kFormat},
            {"causeway", version},
            {"date", date},
            {"step", step},
            {"datasets", datasets},
            {"score", has_score ? Json(*score) : Json()},
            {"random", parse_json("random state", random)},
            {"progress", parse_json("progress", progress)},
            {"configuration", parse_json("configuration", configuration)},
            {"files", Json::object()}};
  for (const File& file : files) {
    json["files"][file.set] = {{"bytes", file.n_bytes}, {"sha256", file.sha256}};
  }
  json["sha256"] = std::string(kDigits, '0');
  std::string text = json.dump(1) + "\n";
  const std::string hash = hash_with_zeroed_digits(text);
  return text.replace(text.size() - kAfterHash.size() - kDigits, kDigits, hash);
}

CheckpointManifest CheckpointManifest::parse(const std::filesystem::path& path,
                                             std::string_view text) {
  try {
    const Json json = Json::parse(text);
    check_version(path, json);
    require(text.ends_with(kAfterHash) && text.size() > kAfterHash.size() + kDigits,
            "it does not end with its SHA-256");
    const std::string_view hash = text.substr(text.size() - kAfterHash.size() - kDigits, kDigits);
    require(hash == hash_with_zeroed_digits(std::string(text)), "its SHA-256 does not match");
    return checkpoint_from_json(json);
  } catch (const Json::parse_error&) {
    fail(ErrorKind::format, "checkpoint.load",
         fmt::format("\"{}\" is damaged: it is not JSON", path.string()));
  } catch (const Json::exception& problem) {
    fail(ErrorKind::format, "checkpoint.load",
         fmt::format("\"{}\" is damaged: {}", path.string(), problem.what()));
  }
}

}  // namespace causeway::train
