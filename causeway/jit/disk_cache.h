// Compiled code on disk, shared by the processes of a user. Entries are written under a temporary
// name and renamed, carry a checksum, and are discarded if it does not match. When the folder is
// over its limit, the entries that were not used for longest are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::jit {

using Bytes = std::vector<std::byte>;

class DiskCache {
 public:
  DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes);

  // The cache of this process: the folder CAUSEWAY_CACHE names, else causeway/kernels in
  // $XDG_CACHE_HOME or ~/.cache. CAUSEWAY_CACHE_LIMIT is its size, 512 MiB unless set; 0 turns it
  // off.
  static DiskCache& shared();

  // The name of an entry: a hash of all parts that decide its content.
  static std::string key(std::initializer_list<std::string_view> parts);

  bool has(const std::string& key) const;
  // Nothing if there is no such entry or if it is damaged.
  std::optional<Bytes> find(const std::string& key);
  // A folder that cannot be written is reported once and otherwise ignored: the cache saves time
  // only.
  void store(const std::string& key, std::span<const std::byte> content);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void remove_oldest();

  std::filesystem::path folder_;
  std::uint64_t limit_;
  std::mutex mutex_;
  std::uint64_t unchecked_bytes_;  // written since the folder's size was last known
  bool reported_ = false;
};

}  // namespace causeway::jit
