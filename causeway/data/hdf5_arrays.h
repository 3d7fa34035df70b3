// The arrays in an HDF5 file: how they are created, listed and addressed. A function that fails
// returns a handle that is not open, false or nothing; last_hdf5_fault() then has the reason.
#pragma once

#include "causeway/data/array_file.h"
#include "causeway/data/hdf5_library.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace causeway::data {

using Hdf5Sizes = std::vector<hsize_t>;

// The sizes of an array of that many entries.
Hdf5Sizes hdf5_sizes(std::int64_t n_entries, const Shape& entry);

// How arrays are opened for writing: without a cache, so that values go straight to the file and a
// killed process has kept nothing back.
Hdf5Handle uncached_access();

// An array of layout.n_entries entries that can grow, chunked along them.
Hdf5Handle create_array(hid_t file, const ArrayLayout& layout, const ArrayColumn& column);
bool create_constant(hid_t file, const ArrayConstant& constant);

// The names of what lies in the file's root, sorted.
std::optional<std::vector<std::string>> names_in(hid_t file);

// The column that an array is, and its number of entries; nothing for one without a first axis or
// of another type.
struct Hdf5Column {
  ArrayColumn column;
  std::int64_t n_entries = 0;
};
std::optional<Hdf5Column> describe_array(const std::string& name, hid_t array);

// Entries first to first + count: the spaces in the file and in memory.
std::pair<Hdf5Handle, Hdf5Handle> select_entries(hid_t array, const ArrayColumn& column,
                                                 std::int64_t first, std::int64_t count);

}  // namespace causeway::data
