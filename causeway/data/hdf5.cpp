#include "causeway/data/hdf5.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/data/hdf5_arrays.h"
#include "causeway/data/input_check.h"
#include "causeway/data/tensor_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

namespace causeway::data {

namespace {

class Hdf5File : public ArrayFile {
 public:
  enum class Mode { create, resume, read };

  Hdf5File(std::string_view operation, const std::filesystem::path& path, const ArrayLayout* layout,
           Mode mode)
      : operation_(operation), path_(path), mode_(mode), lock_(take_lock()), file_(open()) {
    if (mode == Mode::create) {
      layout_ = *layout;
      for (const ArrayColumn& column : layout_.columns) create_column(column);
      for (const ArrayConstant& constant : layout_.constants) {
        if (!create_constant(file_, constant)) fail_writing();
      }
      if (hdf5().H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
      return;
    }
    find_columns();
    if (mode == Mode::resume) check(*layout);
  }

  const ArrayLayout& layout() const override { return layout_; }

  void write(std::string_view name, std::int64_t first, const Tensor& values) override {
    const std::scoped_lock lock(hdf5_mutex());
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
    const auto [in_file, in_memory] = select_entries(arrays_[at], column, first, count);
    if (hdf5().H5Dwrite(arrays_[at], type_of(column.dtype), in_memory, in_file, H5P_DEFAULT,
                        packed.data()) < 0) {
      fail_writing();
    }
  }

  Tensor read(std::string_view name, std::int64_t first, std::int64_t count) override {
    const std::scoped_lock lock(hdf5_mutex());
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
    const auto [in_file, in_memory] = select_entries(arrays_[at], column, first, count);
    if (hdf5().H5Dread(arrays_[at], type_of(column.dtype), in_memory, in_file, H5P_DEFAULT,
                       values.data()) < 0) {
      fail_damaged(
          fmt::format("cannot read entries {} to {} of {}", first, first + count, shown(name)));
    }
    return values;
  }

  void finish() override {
    const std::scoped_lock lock(hdf5_mutex());
    if (hdf5().H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
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
  Hdf5Handle file_;
  ArrayLayout layout_;
  std::vector<Hdf5Handle> arrays_;
  std::vector<std::int64_t> lengths_;

  [[noreturn]] void fail_writing() const {
    const Hdf5Fault fault = last_hdf5_fault();
    if (fault.number != 0) fail_io(operation_, "write", path_, fault.number);
    fail(ErrorKind::io, operation_,
         fmt::format("cannot write \"{}\": HDF5: \"{}\"", path_.string(), fault.words));
  }
  [[noreturn]] void fail_damaged(std::string_view what) const {
    const Hdf5Fault fault = last_hdf5_fault();
    Origin{operation_, path_.string()}.fail_format(fmt::format(
        "{}; the file is damaged or not an HDF5 file (HDF5: {})", what, shown(fault.words)));
  }

  // Our own lock, in addition to HDF5's, which lets one process open a file twice. Also reports
  // missing files with the system's error message.
  std::unique_ptr<LockedFile> take_lock() const {
    if (mode_ == Mode::read) {
      const MappedFile readable(operation_, path_);
      return nullptr;
    }
    return std::make_unique<LockedFile>(operation_, path_, mode_ == Mode::create);
  }

  Hdf5Handle open() const {
    const Hdf5Handle access(hdf5().H5Pcreate(hdf5().file_access), hdf5().H5Pclose);
    hdf5().H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (mode_ == Mode::create) {
      Hdf5Handle file(hdf5().H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access),
                      hdf5().H5Fclose);
      if (!file.is_open()) fail_opening();
      return file;
    }
    Hdf5Handle file(
        hdf5().H5Fopen(path_.c_str(), mode_ == Mode::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access),
        hdf5().H5Fclose);
    if (!file.is_open()) fail_opening();
    return file;
  }

  [[noreturn]] void fail_opening() const {
    const Hdf5Fault fault = last_hdf5_fault();
    if (fault.number == EWOULDBLOCK) {
      fail(ErrorKind::io, operation_,
           fmt::format("cannot open \"{}\": it is open in another program; close it there",
                       path_.string()));
    }
    if (mode_ == Mode::create) fail_writing();
    fail_damaged("cannot open the file");
  }

  hid_t type_of(DType dtype) const {
    const hid_t type = hdf5().type_of(dtype);
    if (type >= 0) return type;
    fail(ErrorKind::invalid_argument, operation_,
         fmt::format("dtype {} is not supported in HDF5 files; convert the tensor first",
                     to_string(dtype)));
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
    type_of(column.dtype);  // throws for unsupported dtypes
    Hdf5Handle array = create_array(file_, layout_, column);
    if (!array.is_open()) fail_writing();
    arrays_.push_back(std::move(array));
    lengths_.push_back(layout_.n_entries);
  }

  // Finds the root's arrays that have at least one axis and a supported type.
  void find_columns() {
    const auto names = names_in(file_);
    if (!names) fail_damaged("cannot list the arrays");
    const Hdf5Handle access =
        mode_ == Mode::read ? Hdf5Handle(hdf5().H5Pcreate(hdf5().dataset_access), hdf5().H5Pclose)
                            : uncached_access();
    for (const std::string& name : *names) {
      Hdf5Handle array(hdf5().H5Dopen2(file_, name.c_str(), access), hdf5().H5Dclose);
      if (array.is_open()) add_column(name, std::move(array));
    }
  }

  void add_column(const std::string& name, Hdf5Handle array) {
    std::optional<Hdf5Column> found = describe_array(name, array);
    if (!found) return;
    if (!count_bytes(found->column.entry, found->column.dtype)) {
      fail_damaged("invalid array sizes");
    }
    lengths_.push_back(found->n_entries);
    layout_.n_entries = std::max(layout_.n_entries, found->n_entries);
    layout_.columns.push_back(std::move(found->column));
    arrays_.push_back(std::move(array));
  }

  // Keeps the arrays of the layout, in its order; the others are constants.
  void check(const ArrayLayout& expected) {
    std::vector<Hdf5Handle> arrays;
    for (const ArrayColumn& column : expected.columns) {
      const int at = find_column(layout_, column.name);
      const auto place = static_cast<std::size_t>(std::max(at, 0));
      if (at < 0 || lengths_[place] != expected.n_entries ||
          layout_.columns[place].dtype != column.dtype ||
          !(layout_.columns[place].entry == column.entry)) {
        Origin{operation_, path_.string()}.fail_format(
            fmt::format("array {} is missing or has another shape; the file belongs to another "
                        "dump or is damaged",
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
      const Hdf5Sizes sizes = hdf5_sizes(n_entries, layout_.columns[at].entry);
      if (hdf5().H5Dset_extent(arrays_[at], sizes.data()) < 0) fail_writing();
      lengths_[at] = n_entries;
    }
    layout_.n_entries = n_entries;
    if (hdf5().H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_writing();
  }
};

// Loads the library before anything is written.
std::unique_ptr<ArrayFile> open_file(std::string_view operation, const std::filesystem::path& path,
                                     const ArrayLayout* layout, Hdf5File::Mode mode) {
  const std::scoped_lock lock(hdf5_mutex());
  with_context(fmt::format("opening \"{}\"", path.string()), [] { hdf5(); });
  return std::make_unique<Hdf5File>(operation, path, layout, mode);
}

}  // namespace

std::unique_ptr<ArrayFile> create_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout) {
  return open_file(operation, path, &layout, Hdf5File::Mode::create);
}

std::unique_ptr<ArrayFile> open_hdf5(std::string_view operation,
                                     const std::filesystem::path& path) {
  return open_file(operation, path, nullptr, Hdf5File::Mode::read);
}

std::unique_ptr<ArrayFile> resume_hdf5(std::string_view operation,
                                       const std::filesystem::path& path,
                                       const ArrayLayout& layout) {
  return open_file(operation, path, &layout, Hdf5File::Mode::resume);
}

}  // namespace causeway::data
