// Replaces hdf5.cpp in builds without HDF5.
#include "causeway/core/error.h"
#include "causeway/data/hdf5.h"

namespace causeway::data {

namespace {

[[noreturn]] void fail_absent(std::string_view operation) {
  fail(ErrorKind::invalid_argument, operation,
       "this build has no HDF5 support; install libhdf5-dev and rebuild, or use a .npz file");
}

}  // namespace

LibraryStatus hdf5_status() { return {"", "", "this build has no HDF5 support"}; }

std::unique_ptr<ArrayFile> create_hdf5(std::string_view operation, const std::filesystem::path&,
                                       const ArrayLayout&) {
  fail_absent(operation);
}

std::unique_ptr<ArrayFile> open_hdf5(std::string_view operation, const std::filesystem::path&) {
  fail_absent(operation);
}

std::unique_ptr<ArrayFile> resume_hdf5(std::string_view operation, const std::filesystem::path&,
                                       const ArrayLayout&) {
  fail_absent(operation);
}

}  // namespace causeway::data
