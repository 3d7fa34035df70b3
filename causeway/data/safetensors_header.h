// The header of .safetensors files: eight bytes of length, then JSON with the dtype, shape and data
// offsets of every tensor. All rules of the format are checked here.
#pragma once

#include "causeway/data/input_check.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace causeway::data {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;  // bytes from the start of the data
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in data order
  std::map<std::string, std::string> metadata;
  std::size_t data_offset = 0;  // offset of the data in the file
};

// Parses the header of a whole file; throws format errors. The returned entries lie inside the
// file, contiguous, each of the size of its shape and dtype.
SafetensorsHeader parse_safetensors_header(const Origin& origin, std::span<const std::byte> file);

// Sorts entries as the reference implementation does and assigns offsets, so that all are aligned.
void place_entries(std::vector<SafetensorsEntry>& entries);

// The bytes before the data, for entries with offsets. Throws invalid_argument for invalid names.
std::string make_safetensors_header(const Origin& origin,
                                    const std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace causeway::data
