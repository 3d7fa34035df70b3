#include "causeway/data/hdf5_arrays.h"

#include <algorithm>
#include <array>

namespace causeway::data {

namespace {

constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 30;  // the format's limit is 4 GiB
constexpr std::uint64_t kSmallestChunk = 64 << 10;

constexpr std::array kTypes = {DType::f64, DType::f32, DType::i64, DType::i32,
                               DType::i16, DType::i8,  DType::u16, DType::u8};

Hdf5Sizes chunk_of(const ArrayLayout& layout, const ArrayColumn& column, const Hdf5Sizes& sizes) {
  const std::uint64_t entry_bytes = std::max<std::uint64_t>(
      static_cast<std::uint64_t>(numel(column.entry)) * size_of(column.dtype), 1);
  const auto entries = static_cast<std::uint64_t>(std::max<std::int64_t>(layout.chunk, 1));
  Hdf5Sizes chunk = sizes;
  // Several small entries share a chunk, but no more than the file has.
  const std::uint64_t n_batches = (sizes[0] + entries - 1) / entries;
  const std::uint64_t together = std::min(kSmallestChunk / (entries * entry_bytes), n_batches);
  chunk[0] = std::clamp<std::uint64_t>(entries * std::max<std::uint64_t>(together, 1), 1,
                                       std::max<std::uint64_t>(kLargestChunk / entry_bytes, 1));
  for (hsize_t& size : chunk) size = std::max<hsize_t>(size, 1);
  return chunk;
}

}  // namespace

Hdf5Sizes hdf5_sizes(std::int64_t n_entries, const Shape& entry) {
  Hdf5Sizes sizes{static_cast<hsize_t>(n_entries)};
  for (const std::int64_t size : entry) sizes.push_back(static_cast<hsize_t>(size));
  return sizes;
}

Hdf5Handle uncached_access() {
  const Hdf5& h5 = hdf5();
  Hdf5Handle access(h5.H5Pcreate(h5.dataset_access), h5.H5Pclose);
  h5.H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 0, H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

Hdf5Handle create_array(hid_t file, const ArrayLayout& layout, const ArrayColumn& column) {
  const Hdf5& h5 = hdf5();
  const Hdf5Sizes sizes = hdf5_sizes(layout.n_entries, column.entry);
  Hdf5Sizes most = sizes;
  most[0] = H5S_UNLIMITED;
  const Hdf5Sizes chunk = chunk_of(layout, column, sizes);
  const Hdf5Handle creation(h5.H5Pcreate(h5.dataset_create), h5.H5Pclose);
  h5.H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  h5.H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  h5.H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  h5.H5Pset_obj_track_times(creation, false);
  const Hdf5Handle access = uncached_access();
  const Hdf5Handle space(
      h5.H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), most.data()), h5.H5Sclose);
  return {h5.H5Dcreate2(file, column.name.c_str(), h5.type_of(column.dtype), space, H5P_DEFAULT,
                        creation, access),
          h5.H5Dclose};
}

bool create_constant(hid_t file, const ArrayConstant& constant) {
  const Hdf5& h5 = hdf5();
  const bool is_text = !constant.text.empty();
  const Hdf5Handle type(h5.H5Tcopy(is_text ? h5.c_string : h5.type_of(DType::i64)), h5.H5Tclose);
  if (is_text) {
    h5.H5Tset_size(type, constant.text.size());
    h5.H5Tset_strpad(type, H5T_STR_NULLPAD);
    h5.H5Tset_cset(type, H5T_CSET_UTF8);
  }
  const hsize_t one = 1;
  const Hdf5Handle space(is_text ? h5.H5Screate(H5S_SCALAR) : h5.H5Screate_simple(1, &one, nullptr),
                         h5.H5Sclose);
  const Hdf5Handle creation(h5.H5Pcreate(h5.dataset_create), h5.H5Pclose);
  h5.H5Pset_obj_track_times(creation, false);
  const Hdf5Handle array(
      h5.H5Dcreate2(file, constant.name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      h5.H5Dclose);
  const void* value = is_text ? static_cast<const void*>(constant.text.data()) : &constant.number;
  return array.is_open() && h5.H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
}

std::optional<std::vector<std::string>> names_in(hid_t file) {
  const Hdf5& h5 = hdf5();
  H5G_info_t info{};
  if (h5.H5Gget_info(file, &info) < 0) return std::nullopt;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const auto name = [&](char* into, std::size_t size) {
      return h5.H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, into, size,
                                   H5P_DEFAULT);
    };
    const ssize_t length = name(nullptr, 0);
    if (length < 0) return std::nullopt;
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    if (name(text.data(), text.size()) < 0) return std::nullopt;
    text.pop_back();
    names.push_back(std::move(text));
  }
  return names;
}

std::optional<Hdf5Column> describe_array(const std::string& name, hid_t array) {
  const Hdf5& h5 = hdf5();
  const Hdf5Handle space(h5.H5Dget_space(array), h5.H5Sclose);
  const Hdf5Handle type(h5.H5Dget_type(array), h5.H5Tclose);
  const int n_dims = h5.H5Sget_simple_extent_ndims(space);
  if (n_dims < 1 || n_dims > kMaxDims) return std::nullopt;
  Hdf5Sizes sizes(static_cast<std::size_t>(n_dims));
  h5.H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  for (const DType dtype : kTypes) {
    if (h5.H5Tequal(type, h5.type_of(dtype)) <= 0) continue;
    Hdf5Column found{{name, dtype, {}}, static_cast<std::int64_t>(sizes[0])};
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      found.column.entry.push_back(static_cast<std::int64_t>(sizes[i]));
    }
    return found;
  }
  return std::nullopt;
}

std::pair<Hdf5Handle, Hdf5Handle> select_entries(hid_t array, const ArrayColumn& column,
                                                 std::int64_t first, std::int64_t count) {
  const Hdf5& h5 = hdf5();
  Hdf5Handle in_file(h5.H5Dget_space(array), h5.H5Sclose);
  const Hdf5Sizes sizes = hdf5_sizes(count, column.entry);
  Hdf5Sizes start(sizes.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  h5.H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, sizes.data(), nullptr);
  Hdf5Handle in_memory(h5.H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                       h5.H5Sclose);
  return {std::move(in_file), std::move(in_memory)};
}

}  // namespace causeway::data
