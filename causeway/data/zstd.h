// Zstandard compression of whole buffers. libzstd is opened at first use.
#pragma once

#include <string>
#include <string_view>

namespace causeway {

// One frame. Frames may follow each other in a file: `zstd -d` and decompress_zstd read them all.
std::string compress_zstd(std::string_view bytes, int level = 3);

// All frames of `bytes`. `name` is the file for messages. Throws an io error for damaged data and
// where more than `limit` bytes would come out.
std::string decompress_zstd(std::string_view bytes, std::string_view name, std::size_t limit);

}  // namespace causeway
