// Launches of decode_step.cuh: its variants by types and lengths, and what it supports.
#include "causeway/kernels/decode/decode_model.h"

#include "causeway/kernels/decode/decode_step.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/launch.h"

#include <algorithm>
#include <bit>

namespace causeway::kernels::cuda {

namespace {

// What a warp multiplies at once: the fastest for GPT-2 124M on an H200, and one for longer rows.
template <class W>
using UsualTile = Tile<sizeof(W) == 4 ? 512 : 768, sizeof(W) == 4 ? 3 : 4 / sizeof(W)>;
using LongTile = Tile<1024, 2>;

template <class T, class W, class TileShape>
__global__ void __launch_bounds__(kBlock, 1)
    decode_kernel(const __grid_constant__ DecodeModel model) {
  extern __shared__ __align__(16) float memory[];
  DecodeStep<T, W, TileShape>(model, memory).run();
}

template <class T, class W, class TileShape>
std::size_t shared_bytes(const DecodeModel& model) {
  return static_cast<std::size_t>(model.n_layers) * sizeof(DecodeLayer) +
         static_cast<std::size_t>(DecodeStep<T, W, TileShape>::floats(model)) * sizeof(float);
}

template <class F>
void dispatch_model(const DecodeModel& model, const F& body) {
  const auto with_tile = [&](auto tag, auto weights) {
    using W = typename decltype(weights)::type;
    const int longest = std::max(model.width, model.hidden);
    if (longest > kWarps * UsualTile<W>::kElements) return body(tag, weights, Tag<LongTile>());
    body(tag, weights, Tag<UsualTile<W>>());
  };
  const auto with = [&](auto tag) {
    if (model.weights == DType::i8) return with_tile(tag, Tag<std::int8_t>());
    with_tile(tag, tag);
  };
  if (model.dtype == DType::bf16) return with(Tag<bf16>());
  with(Tag<float>());
}

int attribute(Device device, cudaDeviceAttr which) {
  int value = 0;
  driver::check(cudaDeviceGetAttribute(&value, which, device.index), "device attribute");
  return value;
}

}  // namespace

int decode_blocks(Device device) { return attribute(device, cudaDevAttrMultiProcessorCount); }

bool can_decode_model(Device device, const DecodeModel& model) {
  if (model.dtype != DType::bf16 && model.dtype != DType::f32) return false;
  const int n_blocks = decode_blocks(device);
  const int bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  bool fits = false;
  dispatch_model(model, [&](auto tag, auto weights, auto tile) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    using TileShape = typename decltype(tile)::type;
    const int lanes = model.size / vector_width<T>();
    const auto whole = [](int length) {
      return length % static_cast<int>(16 / sizeof(W)) == 0 &&
             length <= kWarps * TileShape::kElements;
    };
    fits = model.size % vector_width<T>() == 0 &&
           std::has_single_bit(static_cast<unsigned>(lanes)) && lanes <= 32 &&
           n_blocks <= kMostBlocks && model.heads <= n_blocks && whole(model.width) &&
           whole(model.hidden) && whole(model.heads * model.size) &&
           shared_bytes<T, W, TileShape>(model) <= static_cast<std::size_t>(bytes);
  });
  return fits;
}

std::int64_t decode_exchange_size(const DecodeModel& model) {
  return kMostBlocks + std::int64_t{model.n_layers} * ExchangeLayout(model).size;
}

void decode_model(StreamView stream, const DecodeModel& model) {
  const auto n_blocks = static_cast<unsigned>(decode_blocks(stream.device()));
  dispatch_model(model, [&](auto tag, auto weights, auto tile) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    using TileShape = typename decltype(tile)::type;
    launch(Launch("decode_model", stream, dim3(n_blocks), dim3(kBlock),
                  shared_bytes<T, W, TileShape>(model))
               .cooperative(),
           decode_kernel<T, W, TileShape>, model);
  });
}

}  // namespace causeway::kernels::cuda
