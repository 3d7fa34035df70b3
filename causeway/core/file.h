// Writing whole files: a writer that replaces a file atomically. A process killed at any moment
// leaves either the old file or the new one.
#pragma once

#include "causeway/core/error.h"

#include <cstddef>
#include <filesystem>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// An error of the system.
class IoError : public Error {
 public:
  IoError(std::string message, int code, std::source_location where)
      : Error(ErrorKind::io, std::move(message), where), code_(code) {}

  // Whether removing files may help: the disk is full or a quota is used up.
  bool is_full_disk() const;

 private:
  int code_;  // errno
};

// Throws the IoError [operation] cannot <attempt> "path": <system error>; <advice>.
[[noreturn]] void fail_io(std::string_view operation, std::string_view attempt,
                          const std::filesystem::path& path, int error,
                          std::source_location where = std::source_location::current());

// Opens /dev/null in place of standard input, output and error where they are closed. Otherwise the
// next file that is opened would receive what is printed.
void open_standard_streams() noexcept;

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

// Removes the temporary files of all writers of this process. May be called from a signal handler
// that ends the process.
void remove_partial_files() noexcept;

// Writes the pieces in order as one file.
void write_file_atomically(std::string_view operation, const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces);

// Copies a file; does nothing if both paths are the same file.
void copy_file_atomically(std::string_view operation, const std::filesystem::path& from,
                          const std::filesystem::path& to);

}  // namespace causeway
