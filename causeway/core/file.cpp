#include "causeway/core/file.h"

#include "causeway/core/descriptor.h"
#include "causeway/core/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace causeway {

namespace {

constexpr std::size_t kPendingLimit = std::size_t{256} << 10;
constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // Linux writes at most 2 GiB per call
constexpr int kNoOldFile = -1;

std::string_view advice(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return "; check that the path and its folder exist";
    case EACCES:
    case EPERM: return "; check the permissions";
    case EROFS: return "; choose a writable location";
    case EISDIR: return "; pass a file, not a folder";
    case ENOSPC:
    case EDQUOT: return "; free disk space or choose another location";
    case EFBIG: return "; raise the limit on file sizes (ulimit -f) or choose another location";
    default: return "";
  }
}

// The system would end the path at the zero byte.
bool has_zero_byte(const std::filesystem::path& path) {
  return path.native().find('\0') != std::string::npos;
}

// Temporary names are <prefix><pid>-<counter><suffix>. The target's name is truncated, so that the
// longest file name the system allows can still be written.
std::string partial_prefix(const std::filesystem::path& target) {
  return fmt::format(".{}.", target.filename().string().substr(0, 200));
}
constexpr std::string_view kPartialSuffix = ".partial";

// Concurrent writers of one file, in this process or another, get different names.
std::filesystem::path partial_name(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() /
         fmt::format("{}{}-{}{}", partial_prefix(target), ::getpid(), counter++, kPartialSuffix);
}

// The temporary files of this process. A signal handler reads the names, so their memory is never
// freed.
struct PartialFile {
  std::atomic<bool> taken = false;
  std::atomic<bool> exists = false;
  char path[4096] = {};
};
std::array<PartialFile, 16> partial_files;
static_assert(std::atomic<bool>::is_always_lock_free);

// Without effect if the table is full or the path too long: only the removal after a signal is
// lost.
void note_partial(const std::filesystem::path& path) noexcept {
  if (path.native().size() >= sizeof(PartialFile::path)) return;
  for (PartialFile& file : partial_files) {
    if (file.taken.exchange(true)) continue;
    std::copy_n(path.c_str(), path.native().size() + 1, file.path);
    file.exists = true;
    return;
  }
}

void forget_partial(const std::filesystem::path& path) noexcept {
  for (PartialFile& file : partial_files) {
    if (!file.exists || path.native() != file.path) continue;
    file.exists = false;
    file.taken = false;
    return;
  }
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

// A writer locks its temporary file, and the system drops the lock when the process ends. A
// temporary file that can be locked is therefore stale. On file systems without locks nothing is
// removed.
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

// Locks a new temporary file. Returns false if another writer considered it stale and removed it
// before it was locked.
bool lock_partial(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
  struct stat status;
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

// Makes a rename durable by syncing its folder. Errors are ignored: after a crash either file is
// complete.
void sync_folder(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.parent_path();
  const Descriptor descriptor{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.number >= 0) ::fsync(descriptor.number);
}

}  // namespace

void fail_io(std::string_view operation, std::string_view attempt,
             const std::filesystem::path& path, int error, std::source_location where) {
  throw IoError(fmt::format("[{}] cannot {} \"{}\": {}{}", operation, attempt, path.c_str(),
                            std::system_category().message(error), advice(error)),
                error, where);
}

bool IoError::is_full_disk() const { return code_ == ENOSPC || code_ == EDQUOT; }

LockedFile::LockedFile(std::string_view operation, const std::filesystem::path& path, bool create) {
  if (has_zero_byte(path)) fail_io(operation, "write", path, EINVAL);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0666);
  if (descriptor_ < 0) fail_io(operation, "write", path, errno);
  // The lock belongs to the open file, not to the process, and is independent of flock. On file
  // systems without locks the file stays unlocked.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  if (::fcntl(descriptor_, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES)) return;
  close();
  fail(ErrorKind::io, operation,
       fmt::format(
           "cannot write \"{}\": another process is writing it; wait for it or choose another "
           "name",
           path.c_str()));
}

bool LockedFile::close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

FileWriter::FileWriter(std::string_view operation, const std::filesystem::path& path)
    : operation_(operation), path_(path), target_(path) {
  if (has_zero_byte(path)) fail_writing(EINVAL);
  struct stat old;
  if (::stat(path.c_str(), &old) != 0) {
    if (errno != ENOENT) fail_writing(errno);
    if (!path.has_filename()) fail_writing(path.empty() ? ENOENT : EISDIR);
    open_partial(kNoOldFile);
    return;
  }
  if (S_ISDIR(old.st_mode)) fail_writing(EISDIR);
  // A rename would also replace a write-protected file, which callers do not expect.
  if (::access(path.c_str(), W_OK) != 0) fail_writing(errno);
  if (!S_ISREG(old.st_mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_writing(errno);
    return;
  }
  std::error_code error;
  target_ = std::filesystem::canonical(path, error);
  if (error) fail_writing(error.value());
  open_partial(static_cast<int>(old.st_mode & 07777));
}

void FileWriter::open_partial(int old_mode) {
  remove_stale_partials(target_);
  while (partial_.empty()) {
    const std::filesystem::path name = partial_name(target_);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;  // a writer on another host
    if (descriptor_ < 0) fail_writing(errno);
    if (lock_partial(descriptor_)) {
      partial_ = name;
      note_partial(partial_);
    } else {
      ::close(std::exchange(descriptor_, -1));
    }
  }
  // Best effort: some file systems have no permissions.
  if (old_mode != kNoOldFile) ::fchmod(descriptor_, static_cast<mode_t>(old_mode));
}

FileWriter::~FileWriter() { abandon(); }

void FileWriter::abandon() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (partial_.empty()) return;
  ::unlink(partial_.c_str());
  forget_partial(partial_);
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
  // fsync fails with EINVAL for pipes and terminals, which need none.
  if (::fsync(descriptor_) != 0 && !partial_.empty()) fail_writing(errno);
  // The duplicate keeps the lock until the file is renamed.
  const Descriptor lock{partial_.empty() ? -1 : ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)};
  if (lock.number < 0 && !partial_.empty()) fail_writing(errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_writing(errno);  // network file systems report a full disk here
  if (partial_.empty()) return;
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail_writing(errno);
  forget_partial(partial_);
  partial_.clear();
  sync_folder(target_);
}

void FileWriter::fail_writing(int error) {
  abandon();  // an incomplete file must not be committed by a caller that catches the error
  fail_io(operation_, "write", path_, error);
}

void remove_partial_files() noexcept {
  for (const PartialFile& file : partial_files) {
    if (file.exists) ::unlink(file.path);
  }
}

void open_standard_streams() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor is taken, which is this one.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", number == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

void write_file_atomically(std::string_view operation, const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces) {
  FileWriter writer(operation, path);
  for (const std::span<const std::byte> piece : pieces) writer.write(piece);
  writer.commit();
}

void copy_file_atomically(std::string_view operation, const std::filesystem::path& from,
                          const std::filesystem::path& to) {
  std::error_code none;
  if (std::filesystem::equivalent(from, to, none)) return;
  const MappedFile file(operation, from);
  write_file_atomically(operation, to, std::array{file.bytes()});
}

}  // namespace causeway
