// Reading and writing whole files: a read-only mapping, and a writer that replaces a file
// atomically. A process killed at any moment leaves either the old file or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// Throws the io error [operation] cannot <attempt> "path": <system error>; <advice>.
[[noreturn]] void fail_io(std::string_view operation, std::string_view attempt,
                          const std::filesystem::path& path, int error);

// A file opened for writing with an exclusive lock; created if it does not exist and `create` is
// set. The system drops the lock when the process ends.
class LockedFile {
 public:
  // Throws io errors that begin with [operation], also if another process holds the lock.
  LockedFile(std::string_view operation, const std::filesystem::path& path, bool create);
  ~LockedFile() { close(); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Returns false, with errno set, if the system could not write all data.
  bool close();

 private:
  int descriptor_ = -1;
};

// A regular file, mapped read-only. The bytes stay valid if the file is replaced or removed, but
// not if another program truncates it in place.
class MappedFile {
 public:
  // Throws an io error that begins with [operation] if the path is missing, a folder or unreadable.
  MappedFile(std::string_view operation, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Hints that bytes [0, end) are not needed for now: they leave the process's memory and are read
  // from the file again on access.
  void release_until(std::size_t end) const noexcept;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Writes to a temporary file in the same folder and renames it on commit(). If destroyed without
// commit(), it removes the temporary file and the old file stays. A killed writer leaves its
// temporary file; the next writer of the same path removes it, because it is no longer locked.
// Symbolic links are followed, and the permissions of an old file are kept. A path that is not a
// regular file (a pipe, /dev/stdout) cannot be replaced and is written directly.
class FileWriter {
 public:
  // Every function throws io errors that begin with [operation]; after an error nothing more can be
  // written.
  FileWriter(std::string_view operation, const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Appends to the file; small pieces are buffered.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  // Flushes the file to disk and renames it. Nothing may be written afterwards.
  void commit();

 private:
  void open_partial(int old_mode);
  void write_through(std::span<const std::byte> bytes);
  void abandon() noexcept;
  [[noreturn]] void fail_writing(int error);

  std::string operation_;
  std::filesystem::path path_;     // as the caller passed it, for messages
  std::filesystem::path target_;   // with symbolic links resolved
  std::filesystem::path partial_;  // the temporary name; empty if there is nothing to remove
  std::vector<std::byte> pending_;
  int descriptor_ = -1;
};

// Writes the pieces in order as one file.
void write_file_atomically(std::string_view operation, const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces);

// Copies a file; does nothing if both paths are the same file.
void copy_file_atomically(std::string_view operation, const std::filesystem::path& from,
                          const std::filesystem::path& to);

}  // namespace causeway
