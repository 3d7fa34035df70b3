#include "causeway/data/safetensors.h"

#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/data/safetensors_header.h"
#include "causeway/data/tensor_bytes.h"

#include <fmt/format.h>

namespace causeway {

namespace {

SafetensorsFile read_tensors(const data::Origin& origin, std::span<const std::byte> file,
                             Device device) {
  data::SafetensorsHeader header = data::parse_safetensors_header(origin, file);
  const auto payload = file.subspan(header.data_offset);
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  for (const data::SafetensorsEntry& entry : header.entries) {
    result.tensors[entry.name] = data::tensor_from_bytes(
        origin, fmt::format("tensor {}: ", data::shown(entry.name)),
        payload.subspan(entry.begin, entry.end - entry.begin), entry.shape, entry.dtype, device);
  }
  return result;
}

using Sink = std::function<void(std::span<const std::byte>)>;

std::vector<data::SafetensorsEntry> placed(const std::map<std::string, Tensor>& tensors) {
  std::vector<data::SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back({name, tensor.dtype(), tensor.shape()});
  }
  data::place_entries(entries);
  return entries;
}

void write_pieces(const Sink& sink, const std::string& header,
                  const std::vector<data::SafetensorsEntry>& entries,
                  const std::map<std::string, Tensor>& tensors) {
  sink(std::as_bytes(std::span(header)));
  // One at a time, so that at most one device tensor has a second copy.
  for (const data::SafetensorsEntry& entry : entries) {
    const Tensor packed = data::packed_on_host(tensors.at(entry.name));
    sink(data::bytes_of(packed));
  }
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device) {
  const MappedFile file("load_safetensors", path);
  return file.read_whole([&] {
    return read_tensors({"load_safetensors", path.string()}, file.bytes(), device);
  });
}

SafetensorsFile read_safetensors(std::span<const std::byte> file, Device device) {
  return read_tensors({"read_safetensors", ""}, file, device);
}

void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const data::Origin origin{"save_safetensors", path.string()};
  const std::vector<data::SafetensorsEntry> entries = placed(tensors);
  const std::string header = data::make_safetensors_header(origin, entries, metadata);
  FileWriter writer(origin.operation, path);
  write_pieces([&](std::span<const std::byte> piece) { writer.write(piece); }, header, entries,
               tensors);
  writer.commit();
}

void write_safetensors(const Sink& sink, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<data::SafetensorsEntry> entries = placed(tensors);
  const data::Origin origin{"write_safetensors", ""};
  write_pieces(sink, data::make_safetensors_header(origin, entries, metadata), entries, tensors);
}

}  // namespace causeway
