#include "causeway/data/snappy.h"

#include <cstdint>

namespace causeway::data {

namespace {

class SnappyReader {
 public:
  SnappyReader(std::string_view bytes, std::size_t size, const Origin& origin)
      : bytes_(bytes), size_(size), origin_(origin) {}

  std::string run() {
    if (declared_size() != size_) damaged();
    out_.reserve(size_);
    while (!bytes_.empty()) {
      const auto tag = static_cast<std::uint8_t>(take(1)[0]);
      switch (tag & 3U) {
        case 0: literal(tag >> 2); break;
        case 1: copy(4 + ((tag >> 2) & 7U), (std::size_t{tag} >> 5 << 8) | number(1)); break;
        case 2: copy((tag >> 2) + 1U, number(2)); break;
        case 3: copy((tag >> 2) + 1U, number(4)); break;
      }
    }
    if (out_.size() != size_) damaged();
    return std::move(out_);
  }

 private:
  [[noreturn]] void damaged() const { origin_.fail_format("a page of Snappy data is damaged"); }

  std::string_view take(std::size_t n) {
    if (n > bytes_.size()) damaged();
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  std::size_t number(std::size_t n_bytes) {
    std::size_t value = 0;
    unsigned shift = 0;
    for (const char c : take(n_bytes)) {
      value |= std::size_t{static_cast<std::uint8_t>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  std::size_t declared_size() {
    std::size_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const std::size_t next = number(1);
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    damaged();
  }
  void literal(std::size_t code) {
    const std::size_t length = (code < 60 ? code : number(code - 59)) + 1;
    if (length > size_ - out_.size()) damaged();
    out_ += take(length);
  }
  // The ranges may overlap: the copy repeats what it has written.
  void copy(std::size_t length, std::size_t offset) {
    if (offset == 0 || offset > out_.size() || length > size_ - out_.size()) damaged();
    for (std::size_t from = out_.size() - offset; length > 0; ++from, --length) out_ += out_[from];
  }

  std::string_view bytes_;
  std::size_t size_;
  const Origin& origin_;
  std::string out_;
};

}  // namespace

std::string decompress_snappy(std::string_view bytes, std::size_t size, const Origin& origin) {
  return SnappyReader(bytes, size, origin).run();
}

}  // namespace causeway::data
