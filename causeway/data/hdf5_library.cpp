#include "causeway/data/hdf5_library.h"

#include "causeway/data/hdf5.h"

#include <fmt/format.h>

#include <cstdlib>

namespace causeway::data {

namespace {

LibrarySearch search() {
  return {.name = "HDF5",
          .files = {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310",
                    "libhdf5_serial.so.310", "libhdf5_serial.so", "libhdf5.so"},
          .wheels = {},
          .variable = "CAUSEWAY_HDF5",
          .advice =
              "install HDF5 1.10 to 1.14 (Debian, Ubuntu: apt-get install libhdf5-dev; conda: "
              "hdf5) or use a .npz file",
          .kind = ErrorKind::invalid_argument};
}

}  // namespace

Hdf5::Hdf5() : library(search()) {
  // Without this, HDF5 retries failed writes at exit (full disk). Must precede all other calls,
  // since each of them initialises the library.
  H5dont_atexit();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  version = fmt::format("{}.{}.{}", major, minor, release);
  if (major != 1 || minor < 10) library.fail_version(version, "1.10 to 1.14");
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  file_access = variable("H5P_CLS_FILE_ACCESS_ID_g");
  dataset_create = variable("H5P_CLS_DATASET_CREATE_ID_g");
  dataset_access = variable("H5P_CLS_DATASET_ACCESS_ID_g");
  c_string = variable("H5T_C_S1_g");
}

hid_t Hdf5::type_of(DType dtype) const {
  switch (dtype) {
    case DType::f64: return variable("H5T_IEEE_F64LE_g");
    case DType::f32: return variable("H5T_IEEE_F32LE_g");
    case DType::i64: return variable("H5T_STD_I64LE_g");
    case DType::i32: return variable("H5T_STD_I32LE_g");
    case DType::i16: return variable("H5T_STD_I16LE_g");
    case DType::i8: return variable("H5T_STD_I8LE_g");
    case DType::u16: return variable("H5T_STD_U16LE_g");
    case DType::u8: return variable("H5T_STD_U8LE_g");
    default: return -1;
  }
}

const Hdf5& hdf5() {
  static const auto* const library = new Hdf5;  // never destroyed: used until exit
  return *library;
}

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

Hdf5Fault last_hdf5_fault() {
  Hdf5Fault fault;
  const auto take = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    auto& into = *static_cast<Hdf5Fault*>(data);
    const std::string words = error->desc == nullptr ? "" : error->desc;
    if (into.words.empty()) into.words = words;
    const std::size_t at = words.find("errno = ");
    if (into.number == 0 && at != std::string::npos)
      into.number = std::atoi(words.c_str() + at + 8);
    return 0;
  };
  hdf5().H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &fault);
  return fault;
}

LibraryStatus hdf5_status() {
  const std::scoped_lock lock(hdf5_mutex());
  try {
    return {hdf5().version, hdf5().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::data
