// Stands in for hdf5.cpp where the build found no HDF5.
#include "causeway/core/error.h"
#include "causeway/data/hdf5.h"

namespace causeway::data {

namespace {

[[noreturn]] void fail_absent(std::string_view operation) {
  fail(ErrorKind::invalid_argument, operation,
       "this build has no HDF5; install libhdf5-dev and build again, or name a .npz file");
}

}  // namespace

LibraryStatus hdf5_status() { return {"", "", "this build has no HDF5"}; }

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
