// .safetensors files: named tensors and metadata, in Hugging Face's format.
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

// Reads every tensor into memory of `device`. Throws io errors for unreadable files, format errors
// for damaged ones and unsupported types.
SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device = Device::cpu());

// From memory.
SafetensorsFile read_safetensors(std::span<const std::byte> file, Device device = Device::cpu());

// Writes the same bytes as the reference implementation, metadata sorted by key, atomically: a
// killed process leaves either the old or the new file. Names and metadata are UTF-8.
void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// Passes the same bytes to `sink` in pieces.
void write_safetensors(const std::function<void(std::span<const std::byte>)>& sink,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace causeway
