// The header of .safetensors files: eight bytes of length, then JSON that names every tensor with
// its type, shape and place in the data after it. All rules of the format are checked here.
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
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
  std::size_t data_offset = 0;  // where the data begin in the file
};

// Reads the header of a whole file; throws format errors. The entries of what it returns lie inside
// the file, one after the other without holes, each as long as its shape and type say.
SafetensorsHeader parse_safetensors_header(const Origin& origin, std::span<const std::byte> file);

// Sorts entries as the reference writer does and gives each its place, so that all are aligned.
void place_entries(std::vector<SafetensorsEntry>& entries);

// The bytes before the data, for entries that have been placed. Throws invalid_argument for names
// the format cannot hold.
std::string make_safetensors_header(const Origin& origin,
                                    const std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace causeway::data
