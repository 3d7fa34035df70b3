// A library to preload: makes system calls of a program fail. Environment variables:
//   FAIL_WRITE=n   the n-th write to a regular file fails with EIO
//   FULL_DISK=n    the n-th and all later writes to regular files fail with ENOSPC
//   FAIL_SYNC=n    the n-th fsync fails with EIO
//   FAIL_ALLOC=n   the n-th allocation of host memory fails
//   COUNT_CALLS=f  at exit, the numbers of writes, syncs and allocations are written to file f
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

std::atomic<long> n_writes{0};
std::atomic<long> n_syncs{0};
std::atomic<long> n_allocations{0};

// Read before main, since getenv is not safe within malloc.
struct Limits {
  long write = 0;
  long full = 0;
  long sync = 0;
  long allocation = 0;
} limits;

long number_in(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : 0;
}

__attribute__((constructor)) void read_limits() {
  limits = {number_in("FAIL_WRITE"), number_in("FULL_DISK"), number_in("FAIL_SYNC"),
            number_in("FAIL_ALLOC")};
  n_allocations = 0;
}

__attribute__((destructor)) void write_counts() {
  const char* path = std::getenv("COUNT_CALLS");
  if (path == nullptr) return;
  const long writes = n_writes;
  const long syncs = n_syncs;
  const long allocations = n_allocations;
  if (FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld %ld %ld\n", writes, syncs, allocations);
    std::fclose(file);
  }
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Whether this write must fail; sets errno.
bool fails_write(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const long n = ++n_writes;
  if (limits.full > 0 && n >= limits.full) {
    errno = ENOSPC;
    return true;
  }
  if (n != limits.write) return false;
  errno = EIO;
  return true;
}

bool fails_allocation() {
  if (++n_allocations != limits.allocation) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = next<ssize_t(int, const void*, size_t)>("write");
  return fails_write(descriptor) ? -1 : real(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails_write(descriptor) ? -1 : real(descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fails_write(descriptor) ? -1 : real(descriptor, bytes, size, offset);
}

int fsync(int descriptor) {
  static const auto real = next<int(int)>("fsync");
  if (++n_syncs == limits.sync) {
    errno = EIO;
    return -1;
  }
  return real(descriptor);
}

void* malloc(size_t size) { return fails_allocation() ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) {
  return fails_allocation() ? nullptr : __libc_calloc(count, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return fails_allocation() ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  if (fails_allocation()) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
}
