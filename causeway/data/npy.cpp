#include "causeway/data/npy.h"

#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/data/npy_header.h"
#include "causeway/data/tensor_bytes.h"

#include <algorithm>
#include <array>

namespace causeway {

namespace {

Tensor read_array(const data::Origin& origin, std::span<const std::byte> file, Device device) {
  const data::NpyHeader header = data::parse_npy_header(origin, file);
  const auto bytes = file.subspan(header.data_offset, header.n_bytes);
  if (!header.fortran_order) {
    return data::tensor_from_bytes(origin, "", bytes, header.shape, header.dtype, device);
  }
  // Fortran order: the same bytes are a row-major array with reversed dimensions.
  const int n_dims = header.shape.size();
  Shape reversed = header.shape;
  std::reverse(&reversed[0], &reversed[0] + n_dims);
  std::array<int, kMaxDims> axes{};
  for (int axis = 0; axis < n_dims; ++axis) {
    axes[static_cast<std::size_t>(axis)] = n_dims - 1 - axis;
  }
  return data::tensor_from_bytes(origin, "", bytes, reversed, header.dtype, device)
      .permute(std::span(axes).first(static_cast<std::size_t>(n_dims)));
}

}  // namespace

Tensor load_npy(const std::filesystem::path& path, Device device) {
  const MappedFile file("load_npy", path);
  return file.read_whole([&] {
    return read_array({"load_npy", path.string()}, file.bytes(), device);
  });
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const Tensor packed = data::packed_on_host(tensor);
  const std::string header = data::make_npy_header(tensor.dtype(), tensor.shape());
  const std::array pieces{std::as_bytes(std::span(header)), data::bytes_of(packed)};
  write_file_atomically("save_npy", path, pieces);
}

Tensor read_npy(std::span<const std::byte> file, Device device) {
  return read_array({"read_npy", ""}, file, device);
}

std::vector<std::byte> write_npy(const Tensor& tensor) {
  const Tensor packed = data::packed_on_host(tensor);
  const std::string header = data::make_npy_header(tensor.dtype(), tensor.shape());
  std::vector<std::byte> file;
  file.reserve(header.size() + packed.n_bytes());
  for (const auto piece : {std::as_bytes(std::span(header)), data::bytes_of(packed)}) {
    file.insert(file.end(), piece.begin(), piece.end());
  }
  return file;
}

}  // namespace causeway
