// Zstandard compression of whole buffers, and decompression piece by piece. libzstd is opened at
// first use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace causeway {

// Compresses one buffer after the other in the same memory.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 3);
  ~ZstdCompressor();
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  // One frame, valid until the next call.
  std::string_view compress(std::string_view bytes);

 private:
  int level_;
  void* context_;
  std::string frame_;
};

// One frame. Frames may follow each other in a file: `zstd -d` and decompress_zstd read them all.
std::string compress_zstd(std::string_view bytes, int level = 3);

// All frames of `bytes`. `name` is the file for messages. Throws an io error for damaged data and
// where more than `limit` bytes would come out.
std::string decompress_zstd(std::string_view bytes, std::string_view name, std::size_t limit);

// Decompresses `bytes`, which must outlive it, piece by piece. Frames may be of unknown size.
class ZstdReader {
 public:
  ZstdReader(std::string_view bytes, std::string name);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  // Appends the next bytes to `out`; returns false at the end. Throws an io error for damaged data.
  bool read(std::string& out);
  std::size_t position() const { return position_; }  // compressed bytes read so far

 private:
  std::string_view bytes_;
  std::string name_;
  void* stream_;
  std::size_t position_ = 0;
  bool frame_is_open_ = false;
};

}  // namespace causeway
