#include "causeway/data/npz.h"

#include "causeway/core/mapped_file.h"
#include "causeway/data/crc32.h"
#include "causeway/data/npy.h"
#include "causeway/data/npy_header.h"
#include "causeway/data/tensor_bytes.h"

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr std::string_view kSuffix = ".npy";

bool is_text(std::span<const std::byte> file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 80));
  return start.find("'descr': '|S") != start.npos || start.find("'descr': '<U") != start.npos;
}

std::map<std::string, Tensor> read_arrays(const data::Origin& origin,
                                          std::span<const std::byte> file, Device device) {
  std::map<std::string, Tensor> arrays;
  for (const data::zip::Entry& entry : data::zip::read_directory(origin, file)) {
    const auto bytes = data::zip::content(origin, file, entry);
    if (is_text(bytes)) continue;
    std::string name = entry.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    arrays[name] =
        with_context(fmt::format("reading {} of {}", data::shown(entry.name), origin.name),
                     [&] { return read_npy(bytes, device); });
  }
  return arrays;
}

}  // namespace

std::map<std::string, Tensor> load_npz(const std::filesystem::path& path, Device device) {
  const MappedFile file("load_npz", path);
  const data::Origin origin{"load_npz", path.string()};
  return file.read_whole([&] { return read_arrays(origin, file.bytes(), device); });
}

std::map<std::string, Tensor> read_npz(std::span<const std::byte> file, Device device) {
  return read_arrays({"read_npz", ""}, file, device);
}

namespace data {

void NpzWriter::add(const std::string& name, std::string_view header,
                    std::span<const std::byte> bytes) {
  zip::Entry entry{name + std::string(kSuffix), offset_, header.size() + bytes.size(),
                   crc32(bytes, crc32(std::as_bytes(std::span(header))))};
  const std::string before = zip::header(entry);
  file_.write(before);
  file_.write(header);
  file_.write(bytes);
  offset_ += before.size() + entry.size;
  entries_.push_back(std::move(entry));
}

void NpzWriter::add(const std::string& name, const Tensor& tensor) {
  const Tensor packed = packed_on_host(tensor);
  add(name, make_npy_header(tensor.dtype(), tensor.shape()), bytes_of(packed));
}

void NpzWriter::add(const ArrayConstant& constant) { add(constant.name, npy_of(constant), {}); }

void NpzWriter::commit() {
  file_.write(zip::directory(entries_, offset_));
  file_.commit();
}

std::string npy_of(const ArrayConstant& constant) {
  if (!constant.text.empty()) {
    return make_npy_header(fmt::format("|S{}", constant.text.size()), Shape{}) + constant.text;
  }
  return make_npy_header(DType::i64, {1}) +
         std::string(reinterpret_cast<const char*>(&constant.number), sizeof(constant.number));
}

}  // namespace data
}  // namespace causeway
