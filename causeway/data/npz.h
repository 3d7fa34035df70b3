// NumPy .npz files: zip archives of .npy files, stored uncompressed so that they can be written
// incrementally and read in place.
#pragma once

#include "causeway/core/file.h"
#include "causeway/data/array_file.h"
#include "causeway/data/input_check.h"
#include "causeway/data/zip.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway {

// Reads every array into memory of `device`, except text. Throws io errors for unreadable files,
// format errors for damaged or compressed ones and unsupported types.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path,
                                       Device device = Device::cpu());

// From memory.
std::map<std::string, Tensor> read_npz(std::span<const std::byte> file,
                                       Device device = Device::cpu());

namespace data {

// Writes arrays one after the other, atomically: a killed process leaves either the old or the new
// file.
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

// A constant as .npy content: numbers have shape (1,), texts ().
std::string npy_of(const ArrayConstant& constant);

// An .npz file whose sizes are all known in advance: entries can be written in any order, and
// finish() adds checksums and directory. Overwrites `path`.
std::unique_ptr<ArrayFile> create_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout);
// Reopens a file that create_npz started, finished or not. Throws a format error if the file has
// another layout.
std::unique_ptr<ArrayFile> resume_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout);

}  // namespace data
}  // namespace causeway
