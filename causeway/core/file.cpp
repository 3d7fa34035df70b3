#include "causeway/core/file.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace causeway {

namespace {

constexpr std::size_t kPendingLimit = std::size_t{256} << 10;
constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call
constexpr int kNoOldFile = -1;

std::string_view advice(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return "; check the path, and that its folder exists";
    case EACCES:
    case EPERM: return "; check the permissions";
    case EROFS: return "; choose a place that can be written";
    case EISDIR: return "; name a file, not a folder";
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another place";
    case EFBIG: return "; raise the limit on file sizes (ulimit -f) or choose another place";
    default: return "";
  }
}

[[noreturn]] void fail_io(std::string_view operation, std::string_view attempt,
                          const std::filesystem::path& path, int error) {
  fail(ErrorKind::io, operation,
       fmt::format("cannot {} \"{}\": {}{}", attempt, path.c_str(),
                   std::system_category().message(error), advice(error)));
}

// The system would take what stands before the zero for the whole path.
bool has_zero(const std::filesystem::path& path) {
  return path.native().find('\0') != std::string::npos;
}

// Closes a descriptor that was only read from.
struct ReadDescriptor {
  int number;
  ~ReadDescriptor() {
    if (number >= 0) ::close(number);
  }
};

// Two writers of one file, in this process or another, take different names. The file's own name is
// cut, so that the longest name the system allows can still be written.
std::filesystem::path partial_name(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() / fmt::format(".{}.{}-{}.partial",
                                            target.filename().string().substr(0, 200), ::getpid(),
                                            counter++);
}

// A rename is on the disk when its folder is. Failure is passed over: whichever of the two files a
// crash then leaves, it is whole.
void sync_folder(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.parent_path();
  const ReadDescriptor descriptor{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.number >= 0) ::fsync(descriptor.number);
}

}  // namespace

MappedFile::MappedFile(std::string_view operation, const std::filesystem::path& path) {
  if (has_zero(path)) fail_io(operation, "read", path, EINVAL);
  // Without O_NONBLOCK, opening a pipe would wait for its other end.
  const ReadDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) fail_io(operation, "read", path, errno);
  struct stat status;
  if (::fstat(file.number, &status) != 0) fail_io(operation, "read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_io(operation, "read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::io, operation,
         fmt::format("cannot read \"{}\": it is a pipe or a device; copy its content into a file",
                     path.string()));
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // which mmap does not take
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) fail_io(operation, "read", path, errno);
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

FileWriter::FileWriter(std::string_view operation, const std::filesystem::path& path)
    : operation_(operation), path_(path), target_(path) {
  if (has_zero(path)) fail_writing(EINVAL);
  struct stat old;
  if (::stat(path.c_str(), &old) != 0) {
    if (errno != ENOENT) fail_writing(errno);
    if (!path.has_filename()) fail_writing(path.empty() ? ENOENT : EISDIR);
    open_beside(kNoOldFile);
    return;
  }
  if (S_ISDIR(old.st_mode)) fail_writing(EISDIR);
  // A rename would replace a write-protected file too; nobody expects that.
  if (::access(path.c_str(), W_OK) != 0) fail_writing(errno);
  if (!S_ISREG(old.st_mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_writing(errno);
    return;
  }
  std::error_code error;
  target_ = std::filesystem::canonical(path, error);
  if (error) fail_writing(error.value());
  open_beside(static_cast<int>(old.st_mode & 07777));
}

void FileWriter::open_beside(int old_mode) {
  partial_ = partial_name(target_);
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_writing(errno);
  // Best effort: some file systems have no permissions to keep.
  if (old_mode != kNoOldFile) ::fchmod(descriptor_, static_cast<mode_t>(old_mode));
}

FileWriter::~FileWriter() { abandon(); }

void FileWriter::abandon() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!partial_.empty()) ::unlink(partial_.c_str());
  partial_.clear();
}

void FileWriter::write(std::span<const std::byte> bytes) {
  if (pending_.size() + bytes.size() > kPendingLimit) {
    write_through(pending_);
    pending_.clear();
  }
  if (bytes.size() > kPendingLimit) return write_through(bytes);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

void FileWriter::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileWriter::commit() {
  write_through(pending_);
  pending_.clear();
  // Pipes and terminals cannot be synchronised and say EINVAL; for them there is nothing to do.
  if (::fsync(descriptor_) != 0 && !partial_.empty()) fail_writing(errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_writing(errno);  // network file systems report a full disk here
  if (partial_.empty()) return;
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail_writing(errno);
  partial_.clear();
  sync_folder(target_);
}

void FileWriter::fail_writing(int error) {
  abandon();  // a file with a piece missing must not be committed by who catches the error
  fail_io(operation_, "write", path_, error);
}

void write_file_atomically(std::string_view operation, const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces) {
  FileWriter writer(operation, path);
  for (const std::span<const std::byte> piece : pieces) writer.write(piece);
  writer.commit();
}

}  // namespace causeway
