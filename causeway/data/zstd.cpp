#include "causeway/data/zstd.h"

#include "causeway/core/library.h"

#include <fmt/format.h>

namespace causeway {

namespace {

// Declared here because the library's header is not needed for a few functions of a stable
// interface.
struct ZstdBuffer {  // ZSTD_inBuffer and ZSTD_outBuffer
  const void* data;
  std::size_t size;
  std::size_t position;
};
struct Zstd {
  SharedLibrary library{{.name = "Zstandard",
                         .files = {"libzstd.so.1"},
                         .wheels = {},
                         .variable = "CAUSEWAY_ZSTD",
                         .advice = "install libzstd1",
                         .kind = ErrorKind::io}};
  void* (*open_context)() = library.symbol<decltype(open_context)>("ZSTD_createCCtx");
  std::size_t (*close_context)(void*) = library.symbol<decltype(close_context)>("ZSTD_freeCCtx");
  std::size_t (*compress)(void*, void*, std::size_t, const void*, std::size_t,
                          int) = library.symbol<decltype(compress)>("ZSTD_compressCCtx");
  std::size_t (*bound)(std::size_t) = library.symbol<decltype(bound)>("ZSTD_compressBound");
  std::size_t (*decompress)(void*, std::size_t, const void*,
                            std::size_t) = library.symbol<decltype(decompress)>("ZSTD_decompress");
  std::size_t (*frame)(const void*, std::size_t) =
      library.symbol<decltype(frame)>("ZSTD_findFrameCompressedSize");
  unsigned long long (*content)(const void*, std::size_t) =
      library.symbol<decltype(content)>("ZSTD_getFrameContentSize");
  void* (*open_stream)() = library.symbol<decltype(open_stream)>("ZSTD_createDStream");
  std::size_t (*close_stream)(void*) = library.symbol<decltype(close_stream)>("ZSTD_freeDStream");
  std::size_t (*read_stream)(void*, ZstdBuffer*, ZstdBuffer*) =
      library.symbol<decltype(read_stream)>("ZSTD_decompressStream");
  unsigned (*failed)(std::size_t) = library.symbol<decltype(failed)>("ZSTD_isError");
};

const Zstd& zstd() {
  static const Zstd library;
  return library;
}

Error damaged(std::string_view name, std::string_view how) {
  return Error(ErrorKind::io, fmt::format("[zstd] \"{}\" is damaged: {}", name, how));
}

}  // namespace

ZstdCompressor::ZstdCompressor(int level) : level_(level), context_(zstd().open_context()) {
  if (context_ == nullptr) throw Error(ErrorKind::internal, "[zstd] out of memory");
}

ZstdCompressor::~ZstdCompressor() { zstd().close_context(context_); }

std::string_view ZstdCompressor::compress(std::string_view bytes) {
  const std::size_t bound = zstd().bound(bytes.size());
  if (frame_.size() < bound) frame_.resize(bound);
  const std::size_t size =
      zstd().compress(context_, frame_.data(), frame_.size(), bytes.data(), bytes.size(), level_);
  if (zstd().failed(size) != 0) throw Error(ErrorKind::internal, "[zstd] compression failed");
  return std::string_view(frame_).substr(0, size);
}

std::string compress_zstd(std::string_view bytes, int level) {
  return std::string(ZstdCompressor(level).compress(bytes));
}

std::string decompress_zstd(std::string_view bytes, std::string_view name, std::size_t limit) {
  std::string result;
  while (!bytes.empty()) {
    const std::size_t frame = zstd().frame(bytes.data(), bytes.size());
    if (zstd().failed(frame) != 0)
      throw damaged(name, "a frame is incomplete or has no valid header");
    const unsigned long long content = zstd().content(bytes.data(), frame);
    if (content > limit - result.size())  // unknown sizes are larger than any limit
      throw damaged(name, fmt::format("a frame of unknown size, or more than {} bytes", limit));
    const std::size_t at = result.size();
    result.resize(at + content);
    const std::size_t size = zstd().decompress(result.data() + at, content, bytes.data(), frame);
    if (zstd().failed(size) != 0 || size != content)
      throw damaged(name, "a frame does not decompress");
    bytes.remove_prefix(frame);
  }
  return result;
}

ZstdReader::ZstdReader(std::string_view bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)), stream_(zstd().open_stream()) {
  if (stream_ == nullptr) throw Error(ErrorKind::out_of_memory, "[zstd] no memory for a stream");
}

ZstdReader::~ZstdReader() { zstd().close_stream(stream_); }

bool ZstdReader::read(std::string& out) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::size_t before = out.size();
  out.resize(before + kPiece);
  ZstdBuffer from{bytes_.data(), bytes_.size(), position_};
  ZstdBuffer to{out.data() + before, kPiece, 0};
  std::size_t progress = 1;
  while (to.position < to.size && progress > 0) {
    if (from.position == from.size && !frame_is_open_) break;
    const std::size_t start = from.position + to.position;
    const std::size_t hint = zstd().read_stream(stream_, &to, &from);
    if (zstd().failed(hint) != 0) throw damaged(name_, "a frame does not decompress");
    frame_is_open_ = hint != 0;
    progress = from.position + to.position - start;
  }
  position_ = from.position;
  out.resize(before + to.position);
  if (to.position == 0 && frame_is_open_) throw damaged(name_, "the last frame is incomplete");
  return to.position > 0;
}

}  // namespace causeway
