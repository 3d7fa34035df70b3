#include "causeway/jit/disk_cache.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/log.h"
#include "causeway/data/crc32.h"
#include "causeway/data/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace causeway::jit {

namespace {

namespace fs = std::filesystem;

// The first bytes of an entry.
struct Header {
  char magic[8] = {'c', 'w', 'c', 'a', 'c', 'h', 'e', '1'};
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  std::uint32_t padding = 0;
};

// Empty if the user has no folder. One that others can write to would not do: its code is run.
fs::path default_folder() {
  if (const auto given = environment("CAUSEWAY_CACHE")) return *given;
  if (const auto xdg = environment("XDG_CACHE_HOME")) return fs::path(*xdg) / "causeway/kernels";
  if (const auto home = environment("HOME")) return fs::path(*home) / ".cache/causeway/kernels";
  return {};
}

std::uint64_t default_limit() {
  if (default_folder().empty()) return 0;
  return parse_bytes("CAUSEWAY_CACHE_LIMIT",
                     environment("CAUSEWAY_CACHE_LIMIT").value_or("512MiB"));
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_(limit_bytes), unchecked_bytes_(limit_bytes) {}

DiskCache& DiskCache::shared() {
  static auto* cache = new DiskCache(default_folder(), default_limit());
  return *cache;
}

std::string DiskCache::key(std::initializer_list<std::string_view> parts) {
  data::Sha256 hash;
  for (const std::string_view part : parts) {
    // The length keeps ("ab", "c") and ("a", "bc") apart.
    const std::uint64_t size = part.size();
    hash.add(std::as_bytes(std::span(&size, 1)));
    hash.add(std::as_bytes(std::span(part)));
  }
  return hash.hex();
}

fs::path DiskCache::path_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / key.substr(2);
}

bool DiskCache::has(const std::string& key) const {
  std::error_code error;
  return limit_ > 0 && fs::is_regular_file(path_of(key), error);
}

std::optional<Bytes> DiskCache::find(const std::string& key) {
  if (!has(key)) return std::nullopt;
  const fs::path path = path_of(key);
  std::error_code error;
  try {
    const MappedFile file("kernel.cache", path);
    Header header;
    if (file.bytes().size() >= sizeof(header)) {
      std::memcpy(&header, file.bytes().data(), sizeof(header));
      const auto content = file.bytes().subspan(sizeof(header));
      if (std::memcmp(header.magic, Header{}.magic, sizeof(header.magic)) == 0 &&
          header.size == content.size() && header.checksum == data::crc32c(content)) {
        fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // the time of use
        return Bytes(content.begin(), content.end());
      }
    }
  } catch (const Error&) {
    return std::nullopt;  // removed by another process in the meantime
  }
  fs::remove(path, error);
  return std::nullopt;
}

void DiskCache::store(const std::string& key, std::span<const std::byte> content) {
  if (limit_ == 0 || content.size() > limit_) return;
  const std::lock_guard lock(mutex_);
  try {
    const fs::path path = path_of(key);
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    Header header;
    header.size = content.size();
    header.checksum = data::crc32c(content);
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&header, 1)), content};
    write_file_atomically("kernel.cache", path, pieces);
  } catch (const Error& failure) {
    if (!reported_) logger::warn(fmt::format("{}; compiled kernels are not kept", failure.what()));
    reported_ = true;
    return;
  }
  unchecked_bytes_ += sizeof(Header) + content.size();
  if (unchecked_bytes_ >= limit_ / 16) remove_oldest();
}

void DiskCache::remove_oldest() {
  struct Entry {
    fs::path path;
    std::uint64_t size;
    fs::file_time_type used;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  // Other processes remove entries too: what is gone is skipped.
  for (auto at = fs::recursive_directory_iterator(folder_, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;
    const std::uint64_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    const fs::file_time_type used = at->last_write_time(gone);
    if (gone || size == 0) continue;
    entries.push_back({at->path(), size, used});
    total += size;
  }
  unchecked_bytes_ = 0;
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_ / 4 * 3) break;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

}  // namespace causeway::jit
