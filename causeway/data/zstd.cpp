#include "causeway/data/zstd.h"

#include "causeway/core/library.h"

#include <fmt/format.h>

namespace causeway {

namespace {

// Declared here because the library's header is not needed for four functions of a stable
// interface.
struct Zstd {
  SharedLibrary library{{.name = "Zstandard",
                         .files = {"libzstd.so.1"},
                         .wheels = {},
                         .variable = "CAUSEWAY_ZSTD",
                         .advice = "install libzstd1",
                         .kind = ErrorKind::io}};
  std::size_t (*compress)(void*, std::size_t, const void*, std::size_t,
                          int) = library.symbol<decltype(compress)>("ZSTD_compress");
  std::size_t (*bound)(std::size_t) = library.symbol<decltype(bound)>("ZSTD_compressBound");
  std::size_t (*decompress)(void*, std::size_t, const void*,
                            std::size_t) = library.symbol<decltype(decompress)>("ZSTD_decompress");
  std::size_t (*frame)(const void*, std::size_t) =
      library.symbol<decltype(frame)>("ZSTD_findFrameCompressedSize");
  unsigned long long (*content)(const void*, std::size_t) =
      library.symbol<decltype(content)>("ZSTD_getFrameContentSize");
  unsigned (*failed)(std::size_t) = library.symbol<decltype(failed)>("ZSTD_isError");
};

const Zstd& zstd() {
  static const Zstd library;
  return library;
}

}  // namespace

std::string compress_zstd(std::string_view bytes, int level) {
  std::string result(zstd().bound(bytes.size()), '\0');
  const std::size_t size =
      zstd().compress(result.data(), result.size(), bytes.data(), bytes.size(), level);
  if (zstd().failed(size) != 0) throw Error(ErrorKind::internal, "[zstd] compression failed");
  result.resize(size);
  return result;
}

std::string decompress_zstd(std::string_view bytes, std::string_view name, std::size_t limit) {
  const auto damaged = [&](const char* how) {
    return Error(ErrorKind::io, fmt::format("[zstd] \"{}\" is damaged: {}", name, how));
  };
  std::string result;
  while (!bytes.empty()) {
    const std::size_t frame = zstd().frame(bytes.data(), bytes.size());
    if (zstd().failed(frame) != 0) throw damaged("a frame is incomplete or has no valid header");
    const unsigned long long content = zstd().content(bytes.data(), frame);
    if (content > limit - result.size())  // unknown sizes are larger than any limit
      throw damaged(fmt::format("a frame of unknown size, or more than {} bytes", limit).c_str());
    const std::size_t at = result.size();
    result.resize(at + content);
    const std::size_t size = zstd().decompress(result.data() + at, content, bytes.data(), frame);
    if (zstd().failed(size) != 0 || size != content) throw damaged("a frame does not decompress");
    bytes.remove_prefix(frame);
  }
  return result;
}

}  // namespace causeway
