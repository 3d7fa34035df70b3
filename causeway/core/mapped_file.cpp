#include "causeway/core/mapped_file.h"

#include "causeway/core/descriptor.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace causeway {

namespace {

// The mappings of this process. Access to a page behind the end of a file raises SIGBUS; the
// handler finds the mapping here and replaces what is missing by zeros.
struct Watched {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> truncated = false;
};
constexpr std::size_t kNotWatched = 4096;
std::array<Watched, kNotWatched> watched;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);  // required in a signal handler

struct sigaction handler_before {};
std::uintptr_t page_size = 4096;

extern "C" void on_missing_page(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Watched& file : watched) {
    if (address < file.begin || address >= file.end) continue;
    const std::uintptr_t page = address / page_size * page_size;
    void* zeros = ::mmap(reinterpret_cast<void*>(page), file.end - page, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    file.truncated = true;
    return;
  }
  if ((handler_before.sa_flags & SA_SIGINFO) != 0)
    return handler_before.sa_sigaction(number, info, context);
  if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    return handler_before.sa_handler(number);
  }
  ::sigaction(number, &handler_before, nullptr);  // the access is repeated and ends the process
}

bool install_handler() {
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, &handler_before) == 0;
}

// The place in the table; kNotWatched if it is full.
std::size_t watch(const void* data, std::size_t size) {
  [[maybe_unused]] static const bool installed = install_handler();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].taken.exchange(true)) continue;
    watched[i].truncated = false;
    watched[i].end = begin + size;
    watched[i].begin = begin;
    return i;
  }
  return kNotWatched;
}

void unwatch(std::size_t place) {
  if (place == kNotWatched) return;
  watched[place].end = 0;
  watched[place].taken = false;
}

}  // namespace

MappedFile::MappedFile(std::string_view operation, const std::filesystem::path& path)
    : operation_(operation), path_(path), watched_(kNotWatched) {
  // The system would end the path at a zero byte.
  if (path.native().find('\0') != std::string::npos) fail_io(operation, "read", path, EINVAL);
  // Without O_NONBLOCK, opening a pipe would block until its other end is opened.
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
  if (size_ == 0) return;  // mmap rejects a length of 0
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) fail_io(operation, "read", path, errno);
  data_ = static_cast<const std::byte*>(mapped);
  watched_ = watch(mapped, size_);
}

MappedFile::~MappedFile() {
  unwatch(watched_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::require_whole() const {
  if (watched_ == kNotWatched || !watched[watched_].truncated) return;
  fail(ErrorKind::io, operation_,
       fmt::format("\"{}\" was truncated while it was read; read it again when nothing writes it",
                   path_.string()));
}

void MappedFile::release_until(std::size_t end) const noexcept {
  if (data_ == nullptr || end == 0) return;
  ::madvise(const_cast<std::byte*>(data_), std::min(end, size_), MADV_DONTNEED);
}

}  // namespace causeway
