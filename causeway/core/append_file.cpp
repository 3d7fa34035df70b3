#include "causeway/core/append_file.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace causeway {

AppendFile::AppendFile(std::string_view operation, const std::filesystem::path& path)
    : operation_(operation), path_(path), file_(operation, path, true) {
  struct stat status;
  if (::fstat(file_.descriptor(), &status) != 0) fail_io(operation_, "write", path_, errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void AppendFile::add(std::span<const std::byte> bytes) {
  std::uint64_t at = size_;
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int problem = errno;
      // Best effort: if this fails too, the next process that opens the file repairs its end.
      [[maybe_unused]] const int ignored =
          ::ftruncate(file_.descriptor(), static_cast<off_t>(size_));
      fail_io(operation_, "write", path_, problem);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  size_ = at;
}

void AppendFile::cut(std::uint64_t size) {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(size)) != 0) {
    fail_io(operation_, "write", path_, errno);
  }
  size_ = size;
}

void AppendFile::sync() {
  if (::fsync(file_.descriptor()) != 0) fail_io(operation_, "write", path_, errno);
}

}  // namespace causeway
