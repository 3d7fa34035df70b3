// HDF5 files of arrays through the C library (1.10 or newer), which is loaded at first use. Arrays
// are chunked along the entries and can grow; the same data gives the same bytes. Builds without
// the HDF5 header use no_hdf5.cpp, whose functions throw.
#pragma once

#include "causeway/core/library.h"
#include "causeway/data/array_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace causeway::data {

// Version (such as 1.10.8) and file of the library, or why it is not available.
LibraryStatus hdf5_status();

// Overwrites `path`. Space for all entries is allocated at once, and only values are written after
// that, so a killed writer leaves a file that opens. Writing beyond the last entry extends the
// arrays.
std::unique_ptr<ArrayFile> create_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout);

// Opens any file with arrays of supported types in its root group. Throws io errors if it cannot be
// opened, format errors if it is truncated, damaged or not an HDF5 file.
std::unique_ptr<ArrayFile> open_hdf5(std::string_view operation, const std::filesystem::path& path);

// Continues writing a file that create_hdf5 started. Throws a format error if the file has another
// layout.
std::unique_ptr<ArrayFile> resume_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout);

}  // namespace causeway::data
