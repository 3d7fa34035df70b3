#include "causeway/data/safetensors_header.h"

#include "causeway/data/safetensors_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace causeway::data {

namespace {

constexpr std::size_t kLengthSize = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;

// Finds the JSON between length and data; checks the length and what the JSON parser accepts but
// the format does not.
std::string_view find_json(const Origin& origin, std::span<const std::byte> file) {
  if (file.size() < kLengthSize) {
    origin.fail_format(
        fmt::format("expected at least {} bytes, got {}; the file is truncated, copy "
                    "it again",
                    kLengthSize, file.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthSize; ++i) {
    length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  }
  const std::size_t available = file.size() - kLengthSize;
  if (length > kLongestHeader) {
    origin.fail_format(
        fmt::format("expected a header of at most {} bytes, got {}; is it a "
                    ".safetensors file?",
                    kLongestHeader, length));
  }
  if (length > available) {
    origin.fail_format(
        fmt::format("expected {} bytes of header, got {}; the file is truncated, copy "
                    "it again",
                    length, available));
  }
  const std::string_view json(reinterpret_cast<const char*>(file.data()) + kLengthSize, length);
  if (!json.starts_with('{')) {
    origin.fail_format(
        fmt::format("expected the header to start with '{{', got {}; is it a "
                    ".safetensors file?",
                    shown(json.substr(0, 1))));
  }
  // The JSON parser treats a zero byte as the end of input.
  if (const std::size_t at = json.find('\0'); at != std::string_view::npos) {
    origin.fail_format(
        fmt::format("the header has a zero byte at its byte {}; copy the file again", at));
  }
  return json;
}

void check_size(const Origin& origin, const SafetensorsEntry& entry) {
  const std::optional<std::uint64_t> bytes = count_bytes(entry.shape, entry.dtype);
  if (entry.begin <= entry.end && bytes == entry.end - entry.begin) return;
  origin.fail_format(
      fmt::format("tensor {}: expected {} bytes for shape {} of {}, got the range {} to {}; the "
                  "file is damaged",
                  shown(entry.name), bytes ? fmt::format("{}", *bytes) : "more than 2^63",
                  to_string(entry.shape), safetensors_name(entry.dtype), entry.begin, entry.end));
}

// Sorted by offset, each entry must begin where the previous one ends.
void check_places(const Origin& origin, const std::vector<SafetensorsEntry>& entries,
                  std::uint64_t available) {
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != reached) {
      origin.fail_format(
          fmt::format("tensor {}: expected its data to begin at byte {}, got {}; the "
                      "data {}",
                      shown(entry.name), reached, entry.begin,
                      entry.begin < reached ? "overlaps" : "has a gap"));
    }
    if (entry.end > available) {
      origin.fail_format(
          fmt::format("tensor {}: expected data up to byte {}, got {} bytes; the "
                      "file is truncated, copy it again",
                      shown(entry.name), entry.end, available));
    }
    reached = entry.end;
  }
  if (reached != available) {
    origin.fail_format(
        fmt::format("expected {} bytes of data, got {}; the file is damaged", reached, available));
  }
}

// The reference implementation's order of dtypes, reversed: it follows alignment.
int rank(DType dtype) {
  constexpr DType kOrder[] = {DType::i64,  DType::f64, DType::f32,    DType::i32,
                              DType::bf16, DType::f16, DType::u16,    DType::i16,
                              DType::i8,   DType::u8,  DType::boolean};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), dtype) - kOrder);
}

// A JSON string; throws invalid_argument if it is not UTF-8.
std::string json_string(const Origin& origin, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    origin.fail(ErrorKind::invalid_argument,
                fmt::format("expected names and metadata in UTF-8, got {}", shown(text)));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const Origin& origin, std::span<const std::byte> file) {
  const std::string_view json = find_json(origin, file);
  SafetensorsHeader header = parse_safetensors_json(origin, json);
  header.data_offset = kLengthSize + json.size();
  for (const SafetensorsEntry& entry : header.entries) check_size(origin, entry);
  std::sort(header.entries.begin(), header.entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  check_places(origin, header.entries, file.size() - header.data_offset);
  return header;
}

void place_entries(std::vector<SafetensorsEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              const int rank_a = rank(a.dtype);
              const int rank_b = rank(b.dtype);
              return std::tie(rank_a, a.name) < std::tie(rank_b, b.name);
            });
  std::uint64_t reached = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = reached;
    reached += static_cast<std::uint64_t>(numel(entry.shape)) * size_of(entry.dtype);
    entry.end = reached;
  }
}

std::string make_safetensors_header(const Origin& origin,
                                    const std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    json += fmt::format("\"{}\":{{", kMetadataKey);
    for (const auto& [key, value] : metadata) {
      if (json.back() != '{') json += ',';
      json += json_string(origin, key) + ':' + json_string(origin, value);
    }
    json += '}';
  }
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadataKey) {
      origin.fail(ErrorKind::invalid_argument,
                  fmt::format("the tensor name \"{}\" is reserved; rename it", kMetadataKey));
    }
    if (json.size() > 1) json += ',';
    json +=
        fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                    json_string(origin, entry.name), safetensors_name(entry.dtype),
                    fmt::join(entry.shape.begin(), entry.shape.end(), ","), entry.begin, entry.end);
  }
  json += '}';
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  if (json.size() > kLongestHeader) {
    origin.fail(
        ErrorKind::invalid_argument,
        fmt::format("the header takes {} bytes, but the format allows {}; save fewer tensors per "
                    "file, or shorter names and metadata",
                    json.size(), kLongestHeader));
  }
  std::string length;
  for (std::size_t i = 0; i < kLengthSize; ++i) {
    length += static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return length + json;
}

}  // namespace causeway::data
