// Parses the JSON of a .safetensors header as events: unexpected content stops it immediately, so
// nesting depth and duplicate keys are harmless.
#pragma once

#include "causeway/data/safetensors_header.h"

#include <string_view>

namespace causeway::data {

inline constexpr std::string_view kMetadataKey = "__metadata__";

// Reads names, dtypes, shapes, offsets and metadata in the order of the text. Throws format errors;
// the caller validates the offsets.
SafetensorsHeader parse_safetensors_json(const Origin& origin, std::string_view json);

// The format's name of a dtype: "BF16", "BOOL", ...
std::string_view safetensors_name(DType dtype);

}  // namespace causeway::data
