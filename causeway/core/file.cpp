#include "causeway/core/file.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
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

// The system would take what stands before the zero for the whole path.
bool has_zero(const std::filesystem::path& path) {
  return path.native().find('\0') != std::string::npos;
}

// Closes a descriptor through which nothing was written.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// How temporary names of a target begin and end; between the two stand two numbers. The file's own
// name is cut, so that the longest name the system allows can still be written.
std::string partial_prefix(const std::filesystem::path& target) {
  return fmt::format(".{}.", target.filename().string().substr(0, 200));
}
constexpr std::string_view kPartialSuffix = ".partial";

// Two writers of one file, in this process or another, take different names.
std::filesystem::path partial_name(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() /
         fmt::format("{}{}-{}{}", partial_prefix(target), ::getpid(), counter++, kPartialSuffix);
}

bool is_partial_name(std::string_view name, std::string_view prefix) {
  if (name.size() < prefix.size() + kPartialSuffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(kPartialSuffix)) {
    return false;
  }
  name.remove_prefix(prefix.size());
  name.remove_suffix(kPartialSuffix.size());
  const std::size_t dash = name.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) &&
         is_number(name.substr(dash + 1));
}

// A writer holds a lock on its temporary file, which the system drops when the process ends: what
// can be locked is nobody's any more. Where the file system has no locks nothing is removed.
void remove_stale_partials(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.parent_path();
  const std::string prefix = partial_prefix(target);
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (!is_partial_name(path.filename().native(), prefix)) continue;
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (file.number < 0 || ::flock(file.number, LOCK_EX | LOCK_NB) != 0) continue;
    ::unlink(path.c_str());
  }
}

// Locks a fresh temporary file. False where another writer took it for a stale one, and removed it,
// before it was locked.
bool take_partial(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
  struct stat status;
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

// A rename is on the disk when its folder is. Failure is passed over: whichever of the two files a
// crash then leaves, it is whole.
void sync_folder(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.parent_path();
  const Descriptor descriptor{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.number >= 0) ::fsync(descriptor.number);
}

}  // namespace

void fail_io(std::string_view operation, std::string_view attempt,
             const std::filesystem::path& path, int error) {
  fail(ErrorKind::io, operation,
       fmt::format("cannot {} \"{}\": {}{}", attempt, path.c_str(),
                   std::system_category().message(error), advice(error)));
}

LockedFile::LockedFile(std::string_view operation, const std::filesystem::path& path, bool create) {
  if (has_zero(path)) fail_io(operation, "write", path, EINVAL);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0666);
  if (descriptor_ < 0) fail_io(operation, "write", path, errno);
  // Of the open file, not of the process; libraries that use flock on it do not meet this one.
  // Where the file system has no locks there is none.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  if (::fcntl(descriptor_, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)) return;
  close();
  fail(ErrorKind::io, operation,
       fmt::format("cannot write \"{}\": another run is writing it; wait for it, or choose another "
                   "name",
                   path.c_str()));
}

bool LockedFile::close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

MappedFile::MappedFile(std::string_view operation, const std::filesystem::path& path) {
  if (has_zero(path)) fail_io(operation, "read", path, EINVAL);
  // Without O_NONBLOCK, opening a pipe would wait for its other end.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
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

void MappedFile::release_until(std::size_t end) const noexcept {
  if (data_ == nullptr || end == 0) return;
  ::madvise(const_cast<std::byte*>(data_), std::min(end, size_), MADV_DONTNEED);
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
  remove_stale_partials(target_);
  while (partial_.empty()) {
    const std::filesystem::path name = partial_name(target_);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;  // a writer on another host
    if (descriptor_ < 0) fail_writing(errno);
    if (take_partial(descriptor_)) {
      partial_ = name;
    } else {
      ::close(std::exchange(descriptor_, -1));
    }
  }
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
  // The copy keeps the lock until the file has its name.
  const Descriptor lock{partial_.empty() ? -1 : ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)};
  if (lock.number < 0 && !partial_.empty()) fail_writing(errno);
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
