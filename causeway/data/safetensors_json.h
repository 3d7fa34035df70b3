// The JSON of a .safetensors header read event by event: what does not belong there ends the
// reading at once, so that neither depth nor duplicate keys can do harm.
#pragma once

#include "causeway/data/safetensors_header.h"

#include <string_view>

namespace causeway::data {

inline constexpr std::string_view kMetadataKey = "__metadata__";

// Reads names, types, shapes, offsets and metadata, in the order of the text. Throws format errors;
// whether the offsets make sense is left to the caller.
SafetensorsHeader parse_safetensors_json(const Origin& origin, std::string_view json);

// "BF16", "BOOL", …: what the format calls a type.
std::string_view safetensors_name(DType dtype);

}  // namespace causeway::data
