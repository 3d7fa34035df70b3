#include "causeway/core/folder_writer.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace causeway {

namespace {

constexpr std::string_view kPartialPrefix = ".partial-";

std::filesystem::path parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Concurrent writers, in this process or another, get different names.
std::filesystem::path partial_folder_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  return parent_of(path) /
         fmt::format("{}{}-{}-{}", kPartialPrefix, path.filename().string(), ::getpid(), counter++);
}

int open_folder(const std::filesystem::path& path, int more = 0) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | more);
}

// Returns whether `path` still names the opened folder: it may have been removed or renamed.
bool is_at(int descriptor, const std::filesystem::path& path) {
  struct stat opened;
  struct stat named;
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

void discard(const std::filesystem::path& path) noexcept {
  std::error_code ignored;  // the next writer tries again
  std::filesystem::remove_all(path, ignored);
}

// A writer locks its partial folder, and the system drops the lock when the process ends. A partial
// folder that can be locked is therefore stale. On file systems without locks nothing is removed.
void remove_stale_folders(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::directory_iterator entry(parent, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::filesystem::path path = entry->path();
    if (!path.filename().native().starts_with(kPartialPrefix)) continue;
    const int folder = open_folder(path, O_NOFOLLOW);
    if (folder < 0) continue;
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0 && is_at(folder, path)) discard(path);
    ::close(folder);
  }
}

// Some file systems cannot sync folders and return EINVAL.
bool sync(int folder) { return ::fsync(folder) == 0 || errno == EINVAL; }

// Renames `from` to `to`. An existing `to` is moved to `from` or removed.
bool replace_folder(std::string_view operation, const std::filesystem::path& from,
                    const std::filesystem::path& to) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::rename(from.c_str(), to.c_str()) == 0) return true;  // nothing there, or an empty folder
    if (errno != ENOTEMPTY && errno != EEXIST) return false;
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
      return true;
    }
    if (errno == EINVAL || errno == ENOSYS) {
      remove_folder(operation, to);
    } else if (errno != ENOENT) {  // another writer removed it in the meantime
      return false;
    }
  }
  return false;
}

}  // namespace

FolderWriter::FolderWriter(std::string_view operation, const std::filesystem::path& path)
    : operation_(operation), path_(path) {
  std::error_code error;
  std::filesystem::create_directories(parent_of(path), error);
  if (error) fail_io(operation_, "write", parent_of(path), error.value());
  remove_stale_folders(parent_of(path));
  while (partial_.empty()) make_partial();
}

void FolderWriter::make_partial() {
  const std::filesystem::path name = partial_folder_name(path_);
  if (::mkdir(name.c_str(), 0777) != 0) {
    if (errno == EEXIST) return;  // a writer on another host
    fail_io(operation_, "write", path_, errno);
  }
  // Another writer may consider it stale and remove it before it is locked.
  descriptor_ = open_folder(name);
  if (descriptor_ < 0 && errno == ENOENT) return;
  if (descriptor_ < 0) {
    const int problem = errno;
    ::rmdir(name.c_str());
    fail_io(operation_, "write", path_, problem);
  }
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
  if (is_at(descriptor_, name)) {
    partial_ = name;
  } else {
    ::close(std::exchange(descriptor_, -1));
  }
}

FolderWriter::~FolderWriter() {
  if (!partial_.empty()) discard(partial_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FolderWriter::commit() {
  if (partial_.empty()) fail(ErrorKind::internal, operation_, "the folder was already committed");
  if (!sync(descriptor_)) fail_io(operation_, "write", path_, errno);
  if (!replace_folder(operation_, partial_, path_)) fail_io(operation_, "write", path_, errno);
  const int parent = open_folder(parent_of(path_));
  const bool synced = parent < 0 || sync(parent);
  const int problem = errno;
  if (parent >= 0) ::close(parent);
  discard(std::exchange(partial_, {}));  // the previous folder
  if (!synced) fail_io(operation_, "write", path_, problem);
}

bool remove_folder(std::string_view operation, const std::filesystem::path& path) {
  const std::filesystem::path renamed = partial_folder_name(path);
  if (::rename(path.c_str(), renamed.c_str()) != 0) {
    if (errno == ENOENT) return false;
    fail_io(operation, "remove", path, errno);
  }
  discard(renamed);
  return true;
}

}  // namespace causeway
