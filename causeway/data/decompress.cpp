#include "causeway/data/decompress.h"

#include "causeway/core/library.h"
#include "causeway/data/zstd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace causeway::data {

namespace {

// Declared here because the library's header is not needed for a few functions of a stable
// interface.
struct ZlibStream {  // z_stream
  const void* next_in = nullptr;
  unsigned n_in = 0;
  unsigned long total_in = 0;
  void* next_out = nullptr;
  unsigned n_out = 0;
  unsigned long total_out = 0;
  const char* message = nullptr;
  void* state = nullptr;
  void* allocate = nullptr;
  void* release = nullptr;
  void* opaque = nullptr;
  int data_type = 0;
  unsigned long checksum = 0;
  unsigned long reserved = 0;
};
constexpr int kOk = 0;            // Z_OK
constexpr int kStreamEnd = 1;     // Z_STREAM_END
constexpr int kBufferError = -5;  // Z_BUF_ERROR: no progress, so that the input ended early
constexpr int kGzip = 15 + 16;    // largest window, gzip header

struct Zlib {
  SharedLibrary library{{.name = "zlib",
                         .files = {"libz.so.1"},
                         .wheels = {},
                         .variable = "CAUSEWAY_ZLIB",
                         .advice = "install zlib1g",
                         .kind = ErrorKind::io}};
  const char* (*version)() = library.symbol<decltype(version)>("zlibVersion");
  int (*open)(ZlibStream*, int, const char*, int) = library.symbol<decltype(open)>("inflateInit2_");
  int (*read)(ZlibStream*, int) = library.symbol<decltype(read)>("inflate");
  int (*reset)(ZlibStream*) = library.symbol<decltype(reset)>("inflateReset");
  int (*close)(ZlibStream*) = library.symbol<decltype(close)>("inflateEnd");
};

const Zlib& zlib() {
  static const Zlib library;
  return library;
}

// One gzip member after another, as `gzip -d` reads them.
class GzipReader {
 public:
  GzipReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    if (zlib().open(&stream_, kGzip, zlib().version(), static_cast<int>(sizeof(stream_))) != kOk) {
      throw Error(ErrorKind::out_of_memory, "[gzip] no memory for a stream");
    }
  }
  ~GzipReader() { zlib().close(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Appends the next bytes; returns false at the end.
  bool read(std::string& out) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    if (stream_.n_in == 0) refill();
    if (at_member_start_ && stream_.n_in == 0) return false;
    at_member_start_ = false;
    const std::size_t before = out.size();
    out.resize(before + kPiece);
    stream_.next_out = out.data() + before;
    stream_.n_out = kPiece;
    const int code = zlib().read(&stream_, 0);
    out.resize(before + kPiece - stream_.n_out);
    if (code == kStreamEnd) {
      zlib().reset(&stream_);
      at_member_start_ = true;
    } else if (code != kOk) {
      throw Error(ErrorKind::io, fmt::format("[gzip] \"{}\" is damaged: {}", name_,
                                             code == kBufferError ? "it is incomplete"
                                                                  : "it does not decompress"));
    }
    return true;
  }

 private:
  // zlib counts in 32 bits.
  void refill() {
    const std::size_t n = std::min<std::size_t>(bytes_.size(), std::size_t{1} << 30);
    stream_.next_in = bytes_.data();
    stream_.n_in = static_cast<unsigned>(n);
    bytes_.remove_prefix(n);
  }

  std::string_view bytes_;
  const std::string& name_;
  ZlibStream stream_;
  bool at_member_start_ = true;
};

template <class Reader>
std::string read_all(Reader&& reader) {
  std::string text;
  while (reader.read(text)) continue;
  return text;
}

}  // namespace

std::optional<std::string> decompress(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with("\x1f\x8b")) return read_all(GzipReader(bytes, name));
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return read_all(ZstdReader(bytes, name));
  return std::nullopt;
}

}  // namespace causeway::data
