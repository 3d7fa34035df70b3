// Reading records back.
#include "causeway/core/error.h"
#include "causeway/core/mapped_file.h"
#include "causeway/data/zstd.h"
#include "causeway/pairs/dataset.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::pairs {

namespace {

constexpr std::size_t kLargestFile = std::size_t{8} << 30;  // decompressed

bool is_record_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") ||
         (name.starts_with("pair_") && name.ends_with(".json"));
}

void read_file(const std::filesystem::path& path,
               const std::function<void(std::string_view, const std::string&)>& f) {
  const MappedFile file("pairs", path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                               file.bytes().size());
  std::string content;
  std::string_view text = bytes;
  if (path.extension() == ".zst") {
    content = decompress_zstd(bytes, path.string(), kLargestFile);
    text = content;
  }
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++number;
    if (end > 0) f(text.substr(0, end), fmt::format("{}:{}", path.string(), number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void read_records(const std::filesystem::path& path,
                  const std::function<void(std::string_view, const std::string&)>& f) {
  if (!std::filesystem::is_directory(path)) return read_file(path, f);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && is_record_file(entry.path())) files.push_back(entry.path());
  }
  if (files.empty())
    throw Error(
        ErrorKind::io,
        fmt::format("[pairs] \"{}\" has no records: expected pair_*.json or *.jsonl[.zst] files",
                    path.string()));
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) read_file(file, f);
}

}  // namespace causeway::pairs
