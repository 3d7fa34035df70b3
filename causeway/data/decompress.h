// Files compressed as a whole: gzip and Zstandard, recognised by their first bytes. libz and
// libzstd are opened at first use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace causeway::data {

// The content of a compressed file, in memory; empty if `bytes` are not compressed. `name` is the
// file for messages. Throws an io error for damaged data.
std::optional<std::string> decompress(std::string_view bytes, const std::string& name);

}  // namespace causeway::data
