// Reads and writes at offsets of a locked file, for dumps whose layout is known in advance.
#pragma once

#include "causeway/core/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace causeway::data {

class RandomAccessFile {
 public:
  // Every function throws io errors that begin with [operation].
  RandomAccessFile(std::string_view operation, const std::filesystem::path& path, bool create);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const;
  // Extra bytes are zeros, and take no disk space.
  void resize(std::uint64_t n_bytes) const;
  void write(std::span<const std::byte> bytes, std::uint64_t offset) const;
  void write(std::string_view bytes, std::uint64_t offset) const {
    write(std::as_bytes(std::span(bytes)), offset);
  }
  void read(std::span<std::byte> bytes, std::uint64_t offset) const;
  // Syncs the file to disk and closes it; no calls may follow.
  void finish();

 private:
  std::string operation_;
  std::filesystem::path path_;
  LockedFile file_;
};

}  // namespace causeway::data
