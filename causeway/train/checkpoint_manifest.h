// The manifest.json of a checkpoint: what it is, the size and hash of each file, and the hash of
// the manifest itself.
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
  std::string version;        // of causeway
  std::string date;
  std::vector<File> files;

  // Throws invalid_argument where one of them is not JSON.
  std::string to_text() const;
  // Throws format errors that name `path`; any change of a byte of what to_text gave is found.
  static CheckpointManifest parse(const std::filesystem::path& path, std::string_view text);
};

// Whether a set of tensors may have this name, which becomes that of a file.
bool is_set_name(std::string_view name);

}  // namespace causeway::train
