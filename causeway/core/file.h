// Reading and writing whole files: a read-only mapping, and a writer that puts a file in its place
// in one step, so that a run killed at any moment leaves either the old file or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// Throws the io error [operation] cannot <attempt> "path": <what the system says>; <what to do>.
[[noreturn]] void fail_io(std::string_view operation, std::string_view attempt,
                          const std::filesystem::path& path, int error);

// Open for writing, and ours alone among those who take this lock; made where there is none. The
// system drops the lock when the process ends.
class LockedFile {
 public:
  // Throws io errors that begin with [operation], also where another holds the lock.
  LockedFile(std::string_view operation, const std::filesystem::path& path, bool create);
  ~LockedFile() { close(); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int descriptor() const { return descriptor_; }
  // False where the system could not write all, with errno saying why.
  bool close();

 private:
  int descriptor_ = -1;
};

// The bytes of a regular file, mapped read-only. They stay valid when the file is replaced or
// removed meanwhile, but not when another program shortens it in place.
class MappedFile {
 public:
  // Throws an io error that begins with [operation] for what is missing, a folder or unreadable.
  MappedFile(std::string_view operation, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Says that bytes [0, end) are not needed for now: they leave the process's memory, and come back
  // from the file when they are read again.
  void release_until(std::size_t end) const noexcept;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Writes under a temporary name beside `path` and renames on commit(); destroyed without a commit,
// it removes what it wrote and the old file stays. A writer that was killed leaves its temporary
// file; the next writer of the same path removes it, which it knows from one in use by the lock its
// writer holds. Links are followed, and an old file's
// permissions kept. What is no regular file (a pipe, /dev/stdout) cannot be replaced and is written
// directly.
class FileWriter {
 public:
  // Every function throws io errors that begin with [operation]; after one, nothing can be written.
  FileWriter(std::string_view operation, const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Appends; small pieces are gathered before they go to the system.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  // Brings everything to the disk and the file to its place. Nothing may be written afterwards.
  void commit();

 private:
  void open_beside(int old_mode);
  void write_through(std::span<const std::byte> bytes);
  void abandon() noexcept;
  [[noreturn]] void fail_writing(int error);

  std::string operation_;
  std::filesystem::path path_;     // as the caller named it, for messages
  std::filesystem::path target_;   // with links followed
  std::filesystem::path partial_;  // the temporary name; empty while there is nothing to remove
  std::vector<std::byte> pending_;
  int descriptor_ = -1;
};

// Writes the pieces, one after the other, as one file.
void write_file_atomically(std::string_view operation, const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces);

}  // namespace causeway
