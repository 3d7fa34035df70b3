// Functions of the HDF5 C library, loaded at first use; for files that are built with HDF5. Works
// with any version from 1.10 to 1.14, regardless of the header's version.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/library.h"

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

// The header's constants call functions of a linked library; undefine them.
#undef H5CHECK
#define H5CHECK
#undef H5OPEN
#define H5OPEN

namespace causeway::data {

struct Hdf5 {
  SharedLibrary library;
  CAUSEWAY_LIBRARY_FUNCTION(library, H5open);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5dont_atexit);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5get_libversion);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Eset_auto2);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Ewalk2);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Fcreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Fopen);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Fflush);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Fclose);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Gget_info);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Lget_name_by_idx);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dcreate2);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dopen2);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dread);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dwrite);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dset_extent);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dget_space);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dget_type);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Dclose);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Screate);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Screate_simple);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Sget_simple_extent_ndims);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Sget_simple_extent_dims);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Sselect_hyperslab);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Sclose);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tcopy);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tequal);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tset_size);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tset_strpad);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tset_cset);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Tclose);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pcreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_fclose_degree);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_chunk);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_chunk_cache);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_alloc_time);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_fill_time);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pset_obj_track_times);
  CAUSEWAY_LIBRARY_FUNCTION(library, H5Pclose);

  // The header's predefined identifiers are variables of the library.
  hid_t file_access = -1;     // H5P_FILE_ACCESS
  hid_t dataset_create = -1;  // H5P_DATASET_CREATE
  hid_t dataset_access = -1;  // H5P_DATASET_ACCESS
  hid_t c_string = -1;        // H5T_C_S1
  std::string version;        // "1.10.8"

  Hdf5();
  // The on-disk type of a dtype; -1 if unsupported.
  hid_t type_of(DType dtype) const;

 private:
  hid_t variable(const char* name) const { return *library.symbol<const hid_t*>(name); }
};

// Throws invalid_argument if the library is not found.
const Hdf5& hdf5();

// Must be held during calls: the library has global state and, as built by Debian, is not
// thread-safe.
std::recursive_mutex& hdf5_mutex();

// Owns an identifier and the function that closes it.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Close close_;
};

// The message of the library's last error, and the errno in it, or 0.
struct Hdf5Fault {
  std::string words;
  int number = 0;
};
Hdf5Fault last_hdf5_fault();

}  // namespace causeway::data
