#include "causeway/train/manifest.h"

#include "causeway/core/error.h"
#include "causeway/core/integer_json.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/version.h"
#include "causeway/data/hdf5.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace causeway::train {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDumpKind = "causeway prior dump";

template <class Number>
Number from_hex(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || at != end)
    throw Json::other_error::create(600, "expected hexadecimal digits", nullptr);
  return value;
}

Json to_json(const Manifest& manifest) {
  Json json{{"what", kDumpKind},
            {"complete", manifest.complete},
            {"versions", {{"causeway", manifest.version}, {"hdf5", data::hdf5_status().version}}},
            {"format", manifest.format},
            {"prior", Json::parse(manifest.prior)},
            {"seed", manifest.seed},
            {"first", manifest.first},
            {"count", manifest.count},
            {"shard", manifest.shard.to_string()},
            {"n_datasets", manifest.n_datasets},
            {"batch", manifest.batch},
            {"batches", Json::array()}};
  for (const auto& record : manifest.batches) {
    if (record) {
      json["batches"].push_back({{"hash", fmt::format("{:016x}", record->hash)},
                                 {"crc32", fmt::format("{:08x}", record->crc)}});
    } else {
      json["batches"].push_back(nullptr);
    }
  }
  return json;
}

Manifest manifest_from_json(const Json& json) {
  Manifest manifest;
  if (json.at("what").get<std::string>() != kDumpKind) {
    throw Json::other_error::create(600, "it is not the manifest of a dump", nullptr);
  }
  manifest.complete = json.at("complete").get<bool>();
  manifest.version = json.at("versions").at("causeway").get<std::string>();
  manifest.format = json.at("format").get<std::string>();
  manifest.prior = json.at("prior").dump();
  manifest.seed = integer_from_json<std::uint64_t>(json.at("seed"));
  manifest.first = integer_from_json<std::uint64_t>(json.at("first"));
  manifest.count = integer_from_json<std::int64_t>(json.at("count"));
  manifest.shard = Shard::parse(json.at("shard").get<std::string>());
  manifest.n_datasets = integer_from_json<std::int64_t>(json.at("n_datasets"));
  manifest.batch = integer_from_json<std::int64_t>(json.at("batch"));
  for (const Json& record : json.at("batches")) {
    auto& into = manifest.batches.emplace_back();
    if (record.is_null()) continue;
    into = Manifest::Record{from_hex<std::uint64_t>(record.at("hash").get<std::string>()),
                            from_hex<std::uint32_t>(record.at("crc32").get<std::string>())};
  }
  if (manifest.n_datasets < 0 || manifest.batch < 1 ||
      static_cast<std::int64_t>(manifest.batches.size()) != manifest.n_batches()) {
    throw Json::other_error::create(600, "its sizes are inconsistent", nullptr);
  }
  return manifest;
}

}  // namespace

std::string causeway_version() { return kVersion; }

bool Manifest::has_any() const {
  return std::any_of(batches.begin(), batches.end(), [](const auto& b) { return b.has_value(); });
}

std::string Manifest::difference(const Manifest& other) const {
  if (format != other.format) return "format";
  if (prior != other.prior) return "prior";
  if (seed != other.seed) return "seed";
  if (first != other.first || count != other.count) return "range of datasets";
  if (shard.to_string() != other.shard.to_string()) return "shard";
  if (version != other.version) return "version of causeway";
  return "";
}

void Manifest::save(const std::filesystem::path& path) const {
  FileWriter writer(kPriorGenerate, path);
  writer.write(to_json(*this).dump(1) + "\n");
  writer.commit();
}

std::optional<Manifest> Manifest::load(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const MappedFile file(kPriorGenerate, path);
  const auto bytes = file.bytes();
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return manifest_from_json(Json::parse(text, text + bytes.size()));
  } catch (const Json::exception& problem) {
    fail(ErrorKind::format, kPriorGenerate,
         fmt::format("\"{}\" is damaged ({}); add --overwrite to start the dump over",
                     path.string(), problem.what()));
  } catch (const Error& problem) {
    fail(ErrorKind::format, kPriorGenerate,
         fmt::format("\"{}\" is damaged ({}); add --overwrite to start the dump over",
                     path.string(), problem.message()));
  }
}

}  // namespace causeway::train
