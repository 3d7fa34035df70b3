#include "causeway/data/tensor_bytes.h"

#include "causeway/runtime/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace causeway::data {

// The formats are little-endian and bytes are copied without conversion.
static_assert(std::endian::native == std::endian::little);

Tensor tensor_from_bytes(const Origin& origin, std::string_view what,
                         std::span<const std::byte> bytes, const Shape& shape, DType dtype,
                         Device device) {
  if (dtype == DType::boolean) {
    // A C++ bool with any other value is undefined behaviour.
    const auto wrong = std::find_if(bytes.begin(), bytes.end(),
                                    [](std::byte value) { return value > std::byte{1}; });
    if (wrong != bytes.end()) {
      origin.fail_format(
          fmt::format("{}expected bools to be 0 or 1, got {} in element {}; the file "
                      "is damaged, or save it as uint8",
                      what, std::to_integer<int>(*wrong), wrong - bytes.begin()));
    }
  }
  Tensor tensor = Tensor::empty(shape, dtype, device);
  transfer(tensor.data(), device, bytes.data(), Device::cpu(), bytes.size(),
           current_stream(device));
  return tensor;
}

Tensor packed_on_host(const Tensor& tensor) { return tensor.to(Device::cpu()).contiguous(); }

std::span<const std::byte> bytes_of(const Tensor& packed) {
  return {packed.data(), packed.n_bytes()};
}

}  // namespace causeway::data
