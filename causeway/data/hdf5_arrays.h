// Creating, listing and addressing arrays in an HDF5 file. On failure functions return a closed
// handle, false or nullopt; last_hdf5_fault() has the reason.
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

// Dimensions of an array with n_entries entries.
Hdf5Sizes hdf5_sizes(std::int64_t n_entries, const Shape& entry);

// Access properties without a chunk cache, so that values are written immediately and nothing is
// lost if the process is killed.
Hdf5Handle uncached_access();

// An extensible array of layout.n_entries entries, chunked along them.
Hdf5Handle create_array(hid_t file, const ArrayLayout& layout, const ArrayColumn& column);
bool create_constant(hid_t file, const ArrayConstant& constant);

// The names in the root group, sorted.
std::optional<std::vector<std::string>> names_in(hid_t file);

// The column of an array and its number of entries; nullopt if it has no axis or an unsupported
// type.
struct Hdf5Column {
  ArrayColumn column;
  std::int64_t n_entries = 0;
};
std::optional<Hdf5Column> describe_array(const std::string& name, hid_t array);

// The file and memory dataspaces of entries first ... first + count - 1.
std::pair<Hdf5Handle, Hdf5Handle> select_entries(hid_t array, const ArrayColumn& column,
                                                 std::int64_t first, std::int64_t count);

}  // namespace causeway::data
