// Unicode normalization form C: characters and combining marks that have a composed form are
// composed.
#pragma once

#include <string>
#include <string_view>

namespace causeway::data {

// The normal form of a valid UTF-8 text, as Hugging Face's `tokenizers` 0.23 computes it.
std::string to_nfc(std::string_view text);

}  // namespace causeway::data
