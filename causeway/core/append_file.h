// A file that is only appended to. Each piece is written completely or not at all, unless the
// process is killed during the write.
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
  // Opens or creates the file and locks it; a second AppendFile of the same path is an io error.
  // Every function throws io errors that begin with [operation].
  AppendFile(std::string_view operation, const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  // Passes the bytes to the kernel, so that they survive this process. If not all of them can be
  // written, the file is unchanged.
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Truncates the file to `size` bytes.
  void cut(std::uint64_t size);
  // Flushes the file to disk.
  void sync();

 private:
  std::string operation_;
  std::filesystem::path path_;
  LockedFile file_;
  std::uint64_t size_ = 0;
};

}  // namespace causeway
