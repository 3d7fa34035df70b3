// The files that a user names: paths, folders and shell globs.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

// The files of each input, in order. A folder gives its files for which `accepts` is true,
// recursively, sorted by path, without hidden ones; a glob what it matches, sorted. Throws io
// errors that begin with [operation] for an input that does not exist, and invalid_argument for one
// without files.
std::vector<std::filesystem::path> expand_inputs(
    std::string_view operation, std::span<const std::string> inputs,
    const std::function<bool(const std::filesystem::path&)>& accepts);

}  // namespace causeway::data
