#include "causeway/data/random_access.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace causeway::data {

RandomAccessFile::RandomAccessFile(std::string_view operation, const std::filesystem::path& path,
                                   bool create)
    : operation_(operation), path_(path), file_(operation, path, create) {}

std::uint64_t RandomAccessFile::size() const {
  struct stat status;
  if (::fstat(file_.descriptor(), &status) != 0) fail_io(operation_, "read", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void RandomAccessFile::resize(std::uint64_t n_bytes) const {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(n_bytes)) != 0) {
    fail_io(operation_, "write", path_, errno);
  }
}

void RandomAccessFile::write(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_io(operation_, "write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void RandomAccessFile::read(std::span<std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pread(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_io(operation_, "read", path_, done < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void RandomAccessFile::finish() {
  if (::fsync(file_.descriptor()) != 0 || !file_.close()) {
    fail_io(operation_, "write", path_, errno);
  }
}

}  // namespace causeway::data
