// HDF5 files of arrays, by the C library (1.10 or newer), which is opened at first use: chunked
// along the entries, which can grow, the same data the same bytes. A build without its header takes
// no_hdf5.cpp, whose functions throw.
#pragma once

#include "causeway/core/library.h"
#include "causeway/data/array_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace causeway::data {

// The library's version, such as 1.10.8, and its file, or why there is none.
LibraryStatus hdf5_status();

// Overwrites what is at `path`. Room for all entries is allotted at once, and after that only
// numbers are written: a killed writer leaves a file that opens. Writing beyond the last entry
// makes the arrays longer.
std::unique_ptr<ArrayFile> create_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout);

// Any file whose arrays, of the types of ours, lie in its root. Throws io errors for what cannot be
// opened, format errors for what is cut off, damaged or no HDF5 file.
std::unique_ptr<ArrayFile> open_hdf5(std::string_view operation, const std::filesystem::path& path);

// To go on writing a file that create_hdf5 began. Throws a format error where the file has not that
// layout.
std::unique_ptr<ArrayFile> resume_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout);

}  // namespace causeway::data
