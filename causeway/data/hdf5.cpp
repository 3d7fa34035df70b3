#include "causeway/data/hdf5.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/data/input_check.h"
#include "causeway/data/tensor_bytes.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <unistd.h>

namespace causeway::data {

namespace {

constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 30;  // the format ends at 4 GiB
constexpr std::uint64_t kSmallestChunk = 64 << 10;

// The library keeps its state in globals and, as Debian builds it, knows no threads.
std::recursive_mutex& library() {
  static std::recursive_mutex mutex;
  static const bool ready = [] {
    H5dont_atexit();  // at exit it would try again to write what a full disk did not take
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  static_cast<void>(ready);
  return mutex;
}

// An identifier of the library and how it is given back.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close giver) : id_(id), close_(giver) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Close close_;
};

// What the library says of its last failure, and the system's number where it tells one.
struct Fault {
  std::string words;
  int number = 0;
};

Fault last_fault() {
  Fault fault;
  const auto take = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    auto& into = *static_cast<Fault*>(data);
    const std::string words = error->desc == nullptr ? "" : error->desc;
    if (into.words.empty()) into.words = words;
    const std::size_t at = words.find("errno = ");
    if (into.number == 0 && at != std::string::npos)
      into.number = std::atoi(words.c_str() + at + 8);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &fault);
  return fault;
}

struct KnownType {
  DType dtype;
  hid_t id;
};

std::array<KnownType, 8> known_types() {
  return {{{DType::f64, H5T_IEEE_F64LE},
           {DType::f32, H5T_IEEE_F32LE},
           {DType::i64, H5T_STD_I64LE},
           {DType::i32, H5T_STD_I32LE},
           {DType::i16, H5T_STD_I16LE},
           {DType::i8, H5T_STD_I8LE},
           {DType::u16, H5T_STD_U16LE},
           {DType::u8, H5T_STD_U8LE}}};
}

using Sizes = std::vector<hsize_t>;

Sizes sizes_of(std::int64_t n_entries, const Shape& entry) {
  Sizes sizes{static_cast<hsize_t>(n_entries)};
  for (const std::int64_t size : entry) sizes.push_back(static_cast<hsize_t>(size));
  return sizes;
}

class Hdf5File : public ArrayFile {
 public:
  enum class Mode { create, resume, read };

  Hdf5File(std::string_view operation, const std::filesystem::path& path, const ArrayLayout* layout,
           Mode mode)
      : operation_(operation), path_(path), mode_(mode), lock_(take_lock()), file_(open()) {
    if (mode == Mode::create) {
      layout_ = *layout;
      for (const ArrayColumn& column : layout_.columns) create_column(column);
      for (const ArrayConstant& constant : layout_.constants) create_constant(constant);
      if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
      return;
    }
    find_columns();
    if (mode == Mode::resume) check(*layout);
  }

  const ArrayLayout& layout() const override { return layout_; }

  void write(std::string_view name, std::int64_t first, const Tensor& values) override {
    const std::scoped_lock lock(library());
    const std::size_t at = place_of(name);
    const ArrayColumn& column = layout_.columns[at];
    const Tensor packed = packed_on_host(values);
    const std::int64_t count = values.size(0);
    Shape expected = column.entry;
    expected.insert(0, count);
    if (first < 0 || values.dtype() != column.dtype || !(values.shape() == expected)) {
      fail(ErrorKind::shape_mismatch, operation_,
           fmt::format("{} of {} for {}: expected {} of {}", to_string(values.shape()),
                       to_string(values.dtype()), shown(name), to_string(expected),
                       to_string(column.dtype)));
    }
    grow(first + count);
    if (count == 0) return;
    const auto [in_file, in_memory] = select(column, at, first, count);
    if (H5Dwrite(arrays_[at], type_of(column.dtype), in_memory, in_file, H5P_DEFAULT,
                 packed.data()) < 0) {
      fail_writing();
    }
  }

  Tensor read(std::string_view name, std::int64_t first, std::int64_t count) override {
    const std::scoped_lock lock(library());
    const std::size_t at = place_of(name);
    const ArrayColumn& column = layout_.columns[at];
    if (first < 0 || count < 0 || first > lengths_[at] - count) {
      fail(ErrorKind::invalid_argument, operation_,
           fmt::format("entries {} to {} of {} in \"{}\": it has {}", first, first + count,
                       shown(name), path_.string(), lengths_[at]));
    }
    Shape shape = column.entry;
    shape.insert(0, count);
    Tensor values = Tensor::empty(shape, column.dtype);
    if (count == 0) return values;
    const auto [in_file, in_memory] = select(column, at, first, count);
    if (H5Dread(arrays_[at], type_of(column.dtype), in_memory, in_file, H5P_DEFAULT,
                values.data()) < 0) {
      fail_damaged(
          fmt::format("cannot read entries {} to {} of {}", first, first + count, shown(name)));
    }
    return values;
  }

  void finish() override {
    const std::scoped_lock lock(library());
    if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
    arrays_.clear();
    if (file_.close() < 0) fail_writing();
    if (::fsync(lock_->descriptor()) != 0 || !lock_->close()) {
      fail_io(operation_, "write", path_, errno);
    }
  }

 private:
  std::string operation_;
  std::filesystem::path path_;
  Mode mode_;
  std::unique_ptr<LockedFile> lock_;
  Handle file_;
  ArrayLayout layout_;
  std::vector<Handle> arrays_;
  std::vector<std::int64_t> lengths_;

  [[noreturn]] void fail_writing() const {
    const Fault fault = last_fault();
    if (fault.number != 0) fail_io(operation_, "write", path_, fault.number);
    fail(ErrorKind::io, operation_,
         fmt::format("cannot write \"{}\": HDF5 says \"{}\"", path_.string(), fault.words));
  }
  [[noreturn]] void fail_damaged(std::string_view what) const {
    const Fault fault = last_fault();
    Origin{operation_, path_.string()}.fail_format(fmt::format(
        "{}; the file is damaged or no HDF5 file (HDF5 says {})", what, shown(fault.words)));
  }

  // Ours beside the library's own, which lets one process open a file twice. Finds out too, in the
  // system's words, what is not there.
  std::unique_ptr<LockedFile> take_lock() const {
    if (mode_ == Mode::read) {
      const MappedFile readable(operation_, path_);
      return nullptr;
    }
    return std::make_unique<LockedFile>(operation_, path_, mode_ == Mode::create);
  }

  Handle open() const {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (mode_ == Mode::create) {
      Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
      if (!file.is_open()) fail_opening();
      return file;
    }
    Handle file(H5Fopen(path_.c_str(), mode_ == Mode::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access),
                H5Fclose);
    if (!file.is_open()) fail_opening();
    return file;
  }

  [[noreturn]] void fail_opening() const {
    const Fault fault = last_fault();
    if (fault.number == EWOULDBLOCK) {
      fail(ErrorKind::io, operation_,
           fmt::format("cannot open \"{}\": another program holds it open; close it there",
                       path_.string()));
    }
    if (mode_ == Mode::create) fail_writing();
    fail_damaged("cannot open it");
  }

  hid_t type_of(DType dtype) const {
    for (const KnownType& known : known_types()) {
      if (known.dtype == dtype) return known.id;
    }
    fail(ErrorKind::invalid_argument, operation_,
         fmt::format("{} is not written to HDF5; convert it first", to_string(dtype)));
  }

  std::size_t place_of(std::string_view name) const {
    const int at = find_column(layout_, name);
    if (at < 0) {
      fail(ErrorKind::invalid_argument, operation_,
           fmt::format("\"{}\" has no array {}", path_.string(), shown(name)));
    }
    return static_cast<std::size_t>(at);
  }

  void create_column(const ArrayColumn& column) {
    const Sizes sizes = sizes_of(layout_.n_entries, column.entry);
    Sizes most = sizes;
    most[0] = H5S_UNLIMITED;
    const std::uint64_t entry_bytes = std::max<std::uint64_t>(
        static_cast<std::uint64_t>(numel(column.entry)) * size_of(column.dtype), 1);
    const auto entries = static_cast<std::uint64_t>(std::max<std::int64_t>(layout_.chunk, 1));
    Sizes chunk = sizes;
    // Small entries go many to a chunk, but not to more than the file has.
    const std::uint64_t n_batches = (sizes[0] + entries - 1) / entries;
    const std::uint64_t together = std::min(kSmallestChunk / (entries * entry_bytes), n_batches);
    chunk[0] = std::clamp<std::uint64_t>(entries * std::max<std::uint64_t>(together, 1), 1,
                                         std::max<std::uint64_t>(kLargestChunk / entry_bytes, 1));
    for (hsize_t& size : chunk) size = std::max<hsize_t>(size, 1);

    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation, false);
    const Handle access = uncached();
    const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), most.data()),
                       H5Sclose);
    Handle array(H5Dcreate2(file_, column.name.c_str(), type_of(column.dtype), space, H5P_DEFAULT,
                            creation, access),
                 H5Dclose);
    if (!array.is_open()) fail_writing();
    arrays_.push_back(std::move(array));
    lengths_.push_back(layout_.n_entries);
  }

  // Numbers go straight to the file: a killed process keeps nothing back.
  static Handle uncached() {
    Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 0, H5D_CHUNK_CACHE_W0_DEFAULT);
    return access;
  }

  void create_constant(const ArrayConstant& constant) const {
    const bool is_text = !constant.text.empty();
    const Handle type(H5Tcopy(is_text ? H5T_C_S1 : H5T_STD_I64LE), H5Tclose);
    if (is_text) {
      H5Tset_size(type, constant.text.size());
      H5Tset_strpad(type, H5T_STR_NULLPAD);
      H5Tset_cset(type, H5T_CSET_UTF8);
    }
    const hsize_t one = 1;
    const Handle space(is_text ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &one, nullptr),
                       H5Sclose);
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(creation, false);
    const Handle array(
        H5Dcreate2(file_, constant.name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
        H5Dclose);
    const void* value = is_text ? static_cast<const void*>(constant.text.data()) : &constant.number;
    if (!array.is_open() || H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) {
      fail_writing();
    }
  }

  // The arrays of the root that have a first axis and a type of ours.
  void find_columns() {
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
      static_cast<std::vector<std::string>*>(data)->emplace_back(name);
      return 0;
    };
    hsize_t from = 0;
    if (H5Literate(file_, H5_INDEX_NAME, H5_ITER_INC, &from, note, &names) < 0) {
      fail_damaged("cannot list its arrays");
    }
    const Handle access =
        mode_ == Mode::read ? Handle(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose) : uncached();
    for (const std::string& name : names) {
      Handle array(H5Dopen2(file_, name.c_str(), access), H5Dclose);
      if (array.is_open()) add_column(name, std::move(array));
    }
  }

  void add_column(const std::string& name, Handle array) {
    const Handle space(H5Dget_space(array), H5Sclose);
    const Handle type(H5Dget_type(array), H5Tclose);
    const int n_dims = H5Sget_simple_extent_ndims(space);
    if (n_dims < 1 || n_dims > kMaxDims) return;
    Sizes sizes(static_cast<std::size_t>(n_dims));
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    for (const KnownType& known : known_types()) {
      if (H5Tequal(type, known.id) <= 0) continue;
      ArrayColumn column{name, known.dtype, {}};
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        column.entry.push_back(static_cast<std::int64_t>(sizes[i]));
      }
      if (!count_bytes(column.entry, column.dtype)) fail_damaged("its sizes are impossible");
      lengths_.push_back(static_cast<std::int64_t>(sizes[0]));
      layout_.n_entries = std::max(layout_.n_entries, lengths_.back());
      layout_.columns.push_back(std::move(column));
      arrays_.push_back(std::move(array));
      return;
    }
  }

  // Keeps the arrays of the layout, in its order: the rest are constants.
  void check(const ArrayLayout& expected) {
    std::vector<Handle> arrays;
    for (const ArrayColumn& column : expected.columns) {
      const int at = find_column(layout_, column.name);
      const auto place = static_cast<std::size_t>(std::max(at, 0));
      if (at < 0 || lengths_[place] != expected.n_entries ||
          layout_.columns[place].dtype != column.dtype ||
          !(layout_.columns[place].entry == column.entry)) {
        Origin{operation_, path_.string()}.fail_format(fmt::format(
            "array {} is missing or has another shape; the file is another dump or damaged",
            shown(column.name)));
      }
      arrays.push_back(std::move(arrays_[place]));
    }
    arrays_ = std::move(arrays);
    lengths_.assign(arrays_.size(), expected.n_entries);
    layout_ = expected;
  }

  void grow(std::int64_t n_entries) {
    if (n_entries <= layout_.n_entries) return;
    for (std::size_t at = 0; at < arrays_.size(); ++at) {
      const Sizes sizes = sizes_of(n_entries, layout_.columns[at].entry);
      if (H5Dset_extent(arrays_[at], sizes.data()) < 0) fail_writing();
      lengths_[at] = n_entries;
    }
    layout_.n_entries = n_entries;
    if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
  }

  std::pair<Handle, Handle> select(const ArrayColumn& column, std::size_t at, std::int64_t first,
                                   std::int64_t count) const {
    Handle in_file(H5Dget_space(arrays_[at]), H5Sclose);
    const Sizes sizes = sizes_of(count, column.entry);
    Sizes start(sizes.size(), 0);
    start[0] = static_cast<hsize_t>(first);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, sizes.data(), nullptr);
    Handle in_memory(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose);
    return {std::move(in_file), std::move(in_memory)};
  }
};

}  // namespace

std::string hdf5_version() {
  const std::scoped_lock lock(library());
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

std::unique_ptr<ArrayFile> create_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout) {
  const std::scoped_lock lock(library());
  return std::make_unique<Hdf5File>(operation, path, &layout, Hdf5File::Mode::create);
}

std::unique_ptr<ArrayFile> open_hdf5(std::string_view operation,
                                     const std::filesystem::path& path) {
  const std::scoped_lock lock(library());
  return std::make_unique<Hdf5File>(operation, path, nullptr, Hdf5File::Mode::read);
}

std::unique_ptr<ArrayFile> resume_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout) {
  const std::scoped_lock lock(library());
  return std::make_unique<Hdf5File>(operation, path, &layout, Hdf5File::Mode::resume);
}

}  // namespace causeway::data
