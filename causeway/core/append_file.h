// A file that grows piece by piece, each there whole or not at all unless the process is killed
// while the system writes it.
#pragma once

#include "causeway/core/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace causeway {

class AppendFile {
 public:
  // Opens the file, or makes it, and locks it: a second one of the same path is an io error. Every
  // function throws io errors that begin with [operation].
  AppendFile(std::string_view operation, const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  // Hands the bytes to the system, so that they outlive this process. Where not all can be written
  // the file is as before.
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Cuts the file off behind `size` bytes.
  void cut(std::uint64_t size);
  // Brings all to the disk.
  void sync();

 private:
  std::string operation_;
  std::filesystem::path path_;
  LockedFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace causeway
