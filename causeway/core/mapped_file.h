// Reading files through memory: a read-only mapping of a whole file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace causeway {

// A regular file, mapped read-only. The bytes stay valid if the file is replaced or removed. If
// another program truncates it in place, the bytes that are gone read as zero, and require_whole()
// throws.
class MappedFile {
 public:
  // Throws an io error that begins with [operation] if the path is missing, a folder or unreadable.
  MappedFile(std::string_view operation, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Throws an io error if bytes were read that are no longer in the file.
  void require_whole() const;
  // Returns read(). Throws an io error instead if the file was truncated in between, also where
  // read() throws.
  template <class Read>
  auto read_whole(Read&& read) const;
  // Hints that bytes [0, end) are not needed for now: they leave the process's memory and are read
  // from the file again on access.
  void release_until(std::size_t end) const noexcept;

 private:
  std::string operation_;
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t watched_;  // the place in the table that the signal handler reads
};

template <class Read>
auto MappedFile::read_whole(Read&& read) const {
  try {
    auto result = read();
    require_whole();
    return result;
  } catch (...) {
    require_whole();
    throw;
  }
}

}  // namespace causeway
