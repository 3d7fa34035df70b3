// The manifest.json of a checkpoint: its contents, the size and SHA-256 of each file, and the
// SHA-256 of the manifest itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::train {

inline constexpr const char* kCheckpointManifest = "manifest.json";

struct CheckpointManifest {
  struct File {
    std::string set;  // "model": the file is model.safetensors
    std::uint64_t n_bytes = 0;
    std::string sha256;

    std::string name() const { return set + ".safetensors"; }
  };

  std::int64_t step = 0;
  std::int64_t datasets = 0;
  std::optional<double> score;
  std::string random;         // JSON
  std::string progress;       // JSON
  std::string configuration;  // JSON
  std::string version;        // causeway version
  std::string date;
  std::vector<File> files;

  // Throws invalid_argument if a JSON member does not parse.
  std::string to_text() const;
  // Throws format errors that name `path`, also for any byte that changed since to_text.
  static CheckpointManifest parse(const std::filesystem::path& path, std::string_view text);
};

// Whether this is a valid name of a set of tensors, which becomes a file name.
bool is_set_name(std::string_view name);

}  // namespace causeway::train
