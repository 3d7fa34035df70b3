// An .npz file written in any order: the layout determines the offset of every array.
#include "causeway/data/crc32.h"
#include "causeway/data/npy_header.h"
#include "causeway/data/npz.h"
#include "causeway/data/random_access.h"
#include "causeway/data/tensor_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace causeway::data {

namespace {

// The location of an array in the file. Constants are part of the header.
struct ArrayPlace {
  zip::Entry entry;
  std::string npy_header;
  std::uint64_t data_offset = 0;
  std::uint64_t entry_bytes = 0;
};

std::vector<ArrayPlace> places_of(const ArrayLayout& layout) {
  std::vector<ArrayPlace> places;
  const auto add = [&](const std::string& name, std::string npy_header, std::uint64_t n_bytes) {
    ArrayPlace place;
    place.entry.name = name + ".npy";
    place.entry.size = npy_header.size() + n_bytes;
    place.npy_header = std::move(npy_header);
    if (!places.empty()) {
      const zip::Entry& last = places.back().entry;
      place.entry.offset = last.offset + zip::header(last).size() + last.size;
    }
    place.data_offset =
        place.entry.offset + zip::header(place.entry).size() + place.npy_header.size();
    places.push_back(std::move(place));
  };
  for (const ArrayColumn& column : layout.columns) {
    Shape shape = column.entry;
    shape.insert(0, layout.n_entries);
    const std::uint64_t n_bytes = static_cast<std::uint64_t>(numel(shape)) * size_of(column.dtype);
    add(column.name, make_npy_header(column.dtype, shape), n_bytes);
    places.back().entry_bytes =
        static_cast<std::uint64_t>(numel(column.entry)) * size_of(column.dtype);
  }
  for (const ArrayConstant& constant : layout.constants) add(constant.name, npy_of(constant), 0);
  return places;
}

class NpzDump : public ArrayFile {
 public:
  NpzDump(std::string_view operation, const std::filesystem::path& path, const ArrayLayout& layout,
          bool is_new)
      : operation_(operation),
        layout_(layout),
        places_(places_of(layout)),
        file_(operation, path, is_new) {
    is_new ? begin() : check();
  }

  const ArrayLayout& layout() const override { return layout_; }

  void write(std::string_view name, std::int64_t first, const Tensor& values) override {
    const ArrayPlace& place = place_of(name, first, values.size(0));
    const Tensor packed = packed_on_host(values);
    file_.write(bytes_of(packed),
                place.data_offset + static_cast<std::uint64_t>(first) * place.entry_bytes);
  }

  Tensor read(std::string_view name, std::int64_t first, std::int64_t count) override {
    const ArrayPlace& place = place_of(name, first, count);
    const ArrayColumn& column = layout_.columns[static_cast<std::size_t>(&place - places_.data())];
    Shape shape = column.entry;
    shape.insert(0, count);
    Tensor values = Tensor::empty(shape, column.dtype);
    file_.read({values.data(), values.n_bytes()},
               place.data_offset + static_cast<std::uint64_t>(first) * place.entry_bytes);
    return values;
  }

  void finish() override {
    std::vector<zip::Entry> entries;
    for (ArrayPlace& place : places_) {
      place.entry.crc = crc_of(place);
      file_.write(zip::header(place.entry), place.entry.offset);
      entries.push_back(place.entry);
    }
    const std::string directory = zip::directory(entries, end());
    file_.write(directory, end());
    file_.resize(end() + directory.size());
    file_.finish();
  }

 private:
  std::string operation_;
  ArrayLayout layout_;
  std::vector<ArrayPlace> places_;
  RandomAccessFile file_;

  // End of the last array.
  std::uint64_t end() const { return places_.back().entry.size + end_of_header(places_.back()); }
  static std::uint64_t end_of_header(const ArrayPlace& place) {
    return place.entry.offset + zip::header(place.entry).size();
  }

  void begin() {
    file_.resize(0);
    file_.resize(end());
    for (const ArrayPlace& place : places_) {
      file_.write(zip::header(place.entry) + place.npy_header, place.entry.offset);
    }
  }

  void check() {
    const Origin origin{operation_, file_.path().string()};
    if (file_.size() < end()) {
      origin.fail_format(fmt::format("expected at least {} bytes, got {}; the dump is truncated",
                                     end(), file_.size()));
    }
    for (const ArrayPlace& place : places_) {
      const std::string expected = zip::header(place.entry) + place.npy_header;
      std::string found(expected.size(), '\0');
      file_.read(std::as_writable_bytes(std::span(found)), place.entry.offset);
      found.replace(zip::kCrcOffset, 4, 4, '\0');  // only finish() knows the checksum
      if (found != expected) {
        origin.fail_format(fmt::format("the header of {} is damaged or belongs to another dump",
                                       shown(place.entry.name)));
      }
    }
  }

  const ArrayPlace& place_of(std::string_view name, std::int64_t first, std::int64_t count) const {
    const int column = find_column(layout_, name);
    if (column < 0 || first < 0 || count < 0 || first > layout_.n_entries - count) {
      fail(ErrorKind::invalid_argument, operation_,
           fmt::format("entries {} to {} of {}: the file has {}", first, first + count, shown(name),
                       layout_.n_entries));
    }
    return places_[static_cast<std::size_t>(column)];
  }

  std::uint32_t crc_of(const ArrayPlace& place) const {
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    std::uint32_t crc = 0;
    const std::uint64_t begin = end_of_header(place);
    for (std::uint64_t at = 0; at < place.entry.size; at += buffer.size()) {
      const auto piece =
          std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), place.entry.size - at));
      file_.read(piece, begin + at);
      crc = crc32(piece, crc);
    }
    return crc;
  }
};

}  // namespace

std::unique_ptr<ArrayFile> create_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout) {
  return std::make_unique<NpzDump>(operation, path, layout, true);
}

std::unique_ptr<ArrayFile> resume_npz(std::string_view operation, const std::filesystem::path& path,
                                      const ArrayLayout& layout) {
  return std::make_unique<NpzDump>(operation, path, layout, false);
}

}  // namespace causeway::data
