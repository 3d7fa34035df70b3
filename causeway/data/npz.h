// NumPy's .npz files: a zip archive of .npy files, stored uncompressed so that they can be written
// as they come and read in place.
#pragma once

#include "causeway/core/file.h"
#include "causeway/data/array_file.h"
#include "causeway/data/input_check.h"
#include "causeway/data/zip.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace causeway {

// Reads every array into memory of `device`; text is left out. Throws io errors for a file that
// cannot be read, format errors for one that is damaged, compressed or holds an unsupported type.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path,
                                       Device device = Device::cpu());

namespace data {

// Writes arrays one after the other; a killed run leaves the old file or the new.
class NpzWriter {
 public:
  NpzWriter(std::string_view operation, const std::filesystem::path& path)
      : file_(operation, path) {}
  void add(const std::string& name, const Tensor& tensor);
  void add(const ArrayConstant& constant);
  void commit();

 private:
  void add(const std::string& name, std::string_view header, std::span<const std::byte> bytes);

  FileWriter file_;
  std::vector<zip::Entry> entries_;
  std::uint64_t offset_ = 0;
};

// A constant as the content of a .npy file: numbers have shape (1,), texts ().
std::string npy_of(const ArrayConstant& constant);

// An .npz in the making, all of whose sizes are known: entries go to their place in any order,
// finish() adds checksums and directory. Overwrites what is at `path`.
std::unique_ptr<ArrayFile> create_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout);
// The same with a file that create_npz began, finished or not. Throws a format error where the file
// has not that layout.
std::unique_ptr<ArrayFile> resume_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout);

}  // namespace data
}  // namespace causeway
