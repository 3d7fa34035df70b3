// .safetensors files: named tensors and text about them, in Hugging Face's format.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace causeway {

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads every tensor into memory of `device`. Throws io errors for a file that cannot be read,
// format errors for one that is damaged or holds an unsupported type.
SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device = Device::cpu());

// The same from memory.
SafetensorsFile read_safetensors(std::span<const std::byte> file, Device device = Device::cpu());

// Writes the bytes the reference writer would, the metadata sorted by key; a killed run leaves the
// old file or the new. Names and metadata are UTF-8.
void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// The same bytes, given to `sink` piece by piece.
void write_safetensors(const std::function<void(std::span<const std::byte>)>& sink,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace causeway
