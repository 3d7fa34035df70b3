#include "causeway/data/zip.h"

#include "causeway/data/crc32.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace causeway::data::zip {

namespace {

constexpr std::uint32_t kHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kIn64 = 0xffffffff;  // marker: the value is in the 64-bit field
constexpr std::size_t kHeaderSize = 30;
constexpr std::size_t kDirectoryEntrySize = 46;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEndSize = 22;
constexpr std::uint32_t kVersion = 45;    // the first version with 64-bit sizes
constexpr std::uint32_t kDate = 0x0021;   // 1980-01-01, so that the same data gives the same bytes
constexpr std::uint32_t kExtra64 = 0x01;  // the field with 64-bit sizes

// Appends little-endian integers.
class Bytes {
 public:
  Bytes& u16(std::uint64_t value) { return put(value, 2); }
  Bytes& u32(std::uint64_t value) { return put(value, 4); }
  Bytes& u64(std::uint64_t value) { return put(value, 8); }
  Bytes& text(const std::string& value) {
    bytes_ += value;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;

  Bytes& put(std::uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
};

// Little-endian integers of a file at range-checked offsets.
class View {
 public:
  explicit View(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t u16(std::size_t at) const { return get(at, 2); }
  std::uint64_t u32(std::size_t at) const { return get(at, 4); }
  std::uint64_t u64(std::size_t at) const { return get(at, 8); }
  std::size_t size() const { return bytes_.size(); }
  // nullopt if the range exceeds the bytes.
  std::optional<View> at(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return View(bytes_.subspan(offset, size));
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;

  std::uint64_t get(std::size_t at, std::size_t n_bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_bytes; ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[at + i]) << (8 * i);
    }
    return value;
  }
};

struct Directory {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t n_entries;
};

[[noreturn]] void fail_cut(const Origin& origin) {
  origin.fail_format(
      "no zip directory at the end; the file is truncated or "
      "not an .npz archive");
}

// The last end-of-directory record; a comment of up to 65535 bytes may follow it.
std::size_t find_end(const Origin& origin, const View& file) {
  if (file.size() < kEndSize) fail_cut(origin);
  const std::size_t last = file.size() - kEndSize;
  const std::size_t lowest = last - std::min<std::size_t>(last, 0xffff);
  for (std::size_t at = last;; --at) {
    if (file.u32(at) == kEnd && file.u16(at + 20) == last - at) return at;
    if (at == lowest) fail_cut(origin);
  }
}

Directory find_directory(const Origin& origin, const View& file) {
  const std::size_t end = find_end(origin, file);
  if (end >= kLocatorSize && file.u32(end - kLocatorSize) == kLocator64) {
    const auto end64 = file.at(file.u64(end - kLocatorSize + 8), kEnd64Size);
    if (!end64 || end64->u32(0) != kEnd64) fail_cut(origin);
    return {end64->u64(48), end64->u64(40), end64->u64(32)};
  }
  return {file.u32(end + 16), file.u32(end + 12), file.u16(end + 10)};
}

// Replaces sizes and offset by those of the 64-bit field if they did not fit.
void read_extra64(const Origin& origin, const View& extra, std::uint64_t& packed, Entry& entry) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto field = extra.at(at + 4, extra.u16(at + 2));
    if (!field) break;
    if (extra.u16(at) == kExtra64) {
      std::size_t next = 0;
      for (std::uint64_t* value : {&entry.size, &packed, &entry.offset}) {
        if (*value != kIn64) continue;
        if (next + 8 > field->size()) break;
        *value = field->u64(next);
        next += 8;
      }
      return;
    }
    at += 4 + field->size();
  }
  if (entry.size == kIn64 || packed == kIn64 || entry.offset == kIn64) {
    origin.fail_format(fmt::format("entry {}: its 64-bit sizes are missing; the file is damaged",
                                   shown(entry.name)));
  }
}

}  // namespace

std::string header(const Entry& entry) {
  Bytes bytes;
  bytes.u32(kHeader).u16(kVersion).u16(0).u16(0).u16(0).u16(kDate);
  bytes.u32(entry.crc).u32(kIn64).u32(kIn64).u16(entry.name.size()).u16(20).text(entry.name);
  bytes.u16(kExtra64).u16(16).u64(entry.size).u64(entry.size);
  return bytes.take();
}

std::string directory(std::span<const Entry> entries, std::uint64_t offset) {
  Bytes bytes;
  std::uint64_t size = 0;
  for (const Entry& entry : entries) {
    bytes.u32(kDirectoryEntry).u16(kVersion | 3u << 8).u16(kVersion).u16(0).u16(0).u16(0);
    bytes.u16(kDate).u32(entry.crc).u32(kIn64).u32(kIn64).u16(entry.name.size()).u16(28);
    bytes.u16(0).u16(0).u16(0).u32(0644u << 16).u32(kIn64).text(entry.name);
    bytes.u16(kExtra64).u16(24).u64(entry.size).u64(entry.size).u64(entry.offset);
    size += kDirectoryEntrySize + entry.name.size() + 28;
  }
  const std::uint64_t n_entries = entries.size();
  bytes.u32(kEnd64).u64(kEnd64Size - 12).u16(kVersion | 3u << 8).u16(kVersion).u32(0).u32(0);
  bytes.u64(n_entries).u64(n_entries).u64(size).u64(offset);
  bytes.u32(kLocator64).u32(0).u64(offset + size).u32(1);
  bytes.u32(kEnd).u16(0).u16(0).u16(n_entries).u16(n_entries).u32(size);
  bytes.u32(std::min<std::uint64_t>(offset, kIn64)).u16(0);
  return bytes.take();
}

std::vector<Entry> read_directory(const Origin& origin, std::span<const std::byte> file) {
  const View whole(file);
  const Directory found = find_directory(origin, whole);
  const auto records = whole.at(found.offset, found.size);
  if (!records || found.n_entries > found.size / kDirectoryEntrySize) fail_cut(origin);
  std::vector<Entry> entries;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < found.n_entries; ++i) {
    const auto record = records->at(at, kDirectoryEntrySize);
    if (!record || record->u32(0) != kDirectoryEntry) fail_cut(origin);
    const std::size_t name_size = record->u16(28);
    const std::size_t extra_size = record->u16(30);
    const auto name = records->at(at + kDirectoryEntrySize, name_size);
    const auto extra = records->at(at + kDirectoryEntrySize + name_size, extra_size);
    if (!name || !extra) fail_cut(origin);
    Entry entry{name->text(), record->u32(42), record->u32(24),
                static_cast<std::uint32_t>(record->u32(16))};
    std::uint64_t packed = record->u32(20);
    read_extra64(origin, *extra, packed, entry);
    if (record->u16(10) != 0 || packed != entry.size) {
      origin.fail_format(
          fmt::format("entry {} is compressed, which is not supported; save it with "
                      "np.savez instead of np.savez_compressed",
                      shown(entry.name)));
    }
    entries.push_back(std::move(entry));
    at += kDirectoryEntrySize + name_size + extra_size + record->u16(32);
  }
  return entries;
}

std::span<const std::byte> content(const Origin& origin, std::span<const std::byte> file,
                                   const Entry& entry) {
  const View whole(file);
  const auto head = whole.at(entry.offset, kHeaderSize);
  std::optional<View> found;
  if (head && head->u32(0) == kHeader) {
    found = whole.at(entry.offset + kHeaderSize + head->u16(26) + head->u16(28), entry.size);
  }
  if (!found) {
    origin.fail_format(fmt::format("entry {} is not at its directory offset; the file is damaged",
                                   shown(entry.name)));
  }
  if (const std::uint32_t crc = crc32(found->bytes()); crc != entry.crc) {
    origin.fail_format(fmt::format("entry {} is damaged: expected the checksum {:08x}, got {:08x}",
                                   shown(entry.name), entry.crc, crc));
  }
  return found->bytes();
}

}  // namespace causeway::data::zip
