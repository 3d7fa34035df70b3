// A Parquet file with one row per entry, written in any order: the layout determines the offset of
// every value. Arrays are lists, of lists if they have two dimensions. Nothing is null, compressed
// or dictionary-encoded. A row group has the entries of a chunk; arrays have one page per entry.
#pragma once

#include "causeway/data/array_file.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace causeway::data {

// Overwrites `path`. Columns are f32, i32 or i64 with at most two dimensions; constants become
// metadata of the file. finish() adds the footer, without which the file cannot be read. Throws
// invalid_argument for other layouts.
std::unique_ptr<ArrayFile> create_parquet(std::string_view operation,
                                          const std::filesystem::path& path,
                                          const ArrayLayout& layout);
// Reopens a file that create_parquet started, finished or not. Throws a format error if the file
// is too short for the layout, and on reading where an entry was not written.
std::unique_ptr<ArrayFile> resume_parquet(std::string_view operation,
                                          const std::filesystem::path& path,
                                          const ArrayLayout& layout);

}  // namespace causeway::data
