#include "causeway/data/tensorboard.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/core/mapped_file.h"
#include "causeway/data/crc32.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <string_view>

#include <unistd.h>

namespace causeway {

namespace {

constexpr const char* kTensorboard = "tensorboard";
constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void put_bytes(std::string& out, std::uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

// A protocol buffer is a list of fields: a key (field number and wire type), then a value. These
// are the wire types that events need.
void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_integer(std::string& out, int field, std::int64_t value) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | 0);
  put_varint(out, std::bit_cast<std::uint64_t>(value));
}

void put_double(std::string& out, int field, double value) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | 1);
  put_bytes(out, std::bit_cast<std::uint64_t>(value), 8);
}

void put_text(std::string& out, int field, std::string_view text) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(out, text.size());
  out += text;
}

void put_float(std::string& out, int field, float value) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | 5);
  put_bytes(out, std::bit_cast<std::uint32_t>(value), 4);
}

// message Event { double wall_time = 1; int64 step = 2;
//                 oneof { string file_version = 3; Summary summary = 5; SessionLog session_log = 7;
//                 } }
std::string event(double time, std::int64_t step, int field, std::string_view content) {
  std::string out;
  put_double(out, 1, time);
  put_integer(out, 2, step);
  put_text(out, field, content);
  return out;
}

// message SessionLog { enum SessionStatus status = 1; }, where 1 is START: it invalidates this and
// later steps of earlier files.
std::string start_event(double time, std::int64_t first_step) {
  std::string log;
  put_integer(log, 1, 1);
  return event(time, first_step, 7, log);
}

std::uint32_t masked_crc(std::string_view text) {
  const std::uint32_t crc = data::crc32c(std::as_bytes(std::span(text)));
  return std::rotr(crc, 15) + 0xa282ead8u;
}

// The length, its checksum, the message, its checksum.
std::string framed(std::string_view message) {
  std::string out;
  put_bytes(out, message.size(), 8);
  put_bytes(out, masked_crc(out), 4);
  out += message;
  put_bytes(out, masked_crc(message), 4);
  return out;
}

std::uint64_t get_bytes(std::span<const std::byte> from, std::size_t n_bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < n_bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  }
  return value;
}

void warn_if_damaged(const std::filesystem::path& path) {
  try {
    const MappedFile file(kTensorboard, path);
    const std::uint64_t good = data::undamaged_events(file.bytes());
    if (file.bytes().empty()) {
      logger::warn(fmt::format("[{}] \"{}\" is empty", kTensorboard, path.string()));
      return;
    }
    if (good == file.bytes().size()) return;
    logger::warn(
        fmt::format("[{}] \"{}\" is damaged: TensorBoard shows the first {} of its {} bytes",
                    kTensorboard, path.string(), good, file.bytes().size()));
  } catch (const Error& error) {
    logger::warn(error.what());
  }
}

// TensorBoard reads the files of a folder in name order, so this name must sort last.
std::filesystem::path next_path(const std::filesystem::path& folder) {
  auto seconds = static_cast<std::int64_t>(seconds_now());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_io(kTensorboard, "write", folder, error.value());
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kFilePrefix)) continue;
    std::int64_t old = 0;
    std::from_chars(name.data() + kFilePrefix.size(), name.data() + name.size(), old);
    seconds = std::max(seconds, old + 1);
    warn_if_damaged(entry->path());
  }
  return folder / fmt::format("{}{:010}.{}", kFilePrefix, seconds, ::getpid());
}

}  // namespace

EventWriter::EventWriter(const std::filesystem::path& folder, std::int64_t first_step)
    : path_(next_path(folder)), file_(kTensorboard, path_) {
  const double now = seconds_now();
  file_.add(framed(event(now, 0, 3, "brain.Event:2")) + framed(start_event(now, first_step)));
}

void EventWriter::add(std::int64_t step, std::span<const NamedNumber> numbers) {
  file_.add(data::event_record(seconds_now(), step, numbers));
}

std::uint64_t data::undamaged_events(std::span<const std::byte> file) {
  constexpr std::size_t kBefore = 12;  // the length and its checksum
  constexpr std::size_t kAfter = 4;
  const auto is_correct = [](std::span<const std::byte> bytes, std::span<const std::byte> crc) {
    return masked_crc({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) ==
           get_bytes(crc, 4);
  };
  std::span<const std::byte> rest = file;
  while (rest.size() >= kBefore && is_correct(rest.first(8), rest.subspan(8, 4))) {
    const std::uint64_t length = get_bytes(rest, 8);
    if (length > rest.size() - kBefore || rest.size() - kBefore - length < kAfter) break;
    if (!is_correct(rest.subspan(kBefore, length), rest.subspan(kBefore + length, kAfter))) break;
    rest = rest.subspan(kBefore + length + kAfter);
  }
  return file.size() - rest.size();
}

// message Summary { repeated Value value = 1; }
// message Value { string tag = 1; float simple_value = 2; }
std::string data::event_record(double time, std::int64_t step,
                               std::span<const NamedNumber> numbers) {
  std::string summary;
  for (const auto& [name, number] : numbers) {
    std::string value;
    put_text(value, 1, name);
    put_float(value, 2, static_cast<float>(number));
    put_text(summary, 1, value);
  }
  return framed(event(time, step, 5, summary));
}

}  // namespace causeway
