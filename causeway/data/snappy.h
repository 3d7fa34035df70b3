// Decompression of Snappy's raw format, the default of Parquet files.
#pragma once

#include "causeway/data/input_check.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace causeway::data {

// The content, which must have `size` bytes. Throws a format error for damaged data.
std::string decompress_snappy(std::string_view bytes, std::size_t size, const Origin& origin);

}  // namespace causeway::data
