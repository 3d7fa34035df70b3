// Conversion between element types. Bytes: the input and the output once; bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"

namespace causeway::kernels::cuda {

namespace {

// Converts to the compute type of To, which the kernel narrows. Floats are converted to integers
// through 64 bits, so that a value out of a narrow type's range wraps as on the CPU.
template <class To>
struct Convert {
  template <class From>
  __device__ auto operator()(From value) const {
    if constexpr (std::is_same_v<To, bool>) {
      return value != From(0);
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<Compute<To>>(value);
    }
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) fill_kernel(DeviceLoop<1> loop, T* out, T value) {
  const std::uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= loop.n_vectors) return;
  std::int64_t offset[1];
  loop.offsets(index, offset);
  out[offset[0]] = value;
}

// Each thread writes 16 bytes.
template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_contiguous_kernel(T* out, T value, std::int64_t count) {
  constexpr int kVec = 16 / sizeof(T);
  const std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kVec;
  if (first + kVec <= count) {
    Vector<T, kVec> values;
#pragma unroll
    for (int i = 0; i < kVec; ++i) values.value[i] = value;
    store_vector(out + first, values);
  } else {
    for (std::int64_t i = first; i < count; ++i) out[i] = value;
  }
}

}  // namespace

void cast(StreamView stream, const Operand& in, const Operand& out) {
  dispatch_all(in.dtype, [&](auto in_tag) {
    using From = typename decltype(in_tag)::type;
    dispatch_all(out.dtype, [&](auto out_tag) {
      using To = typename decltype(out_tag)::type;
      if constexpr (!std::is_same_v<From, To>) {
        map_unary<To, From>("cast", stream, Convert<To>(), in, out);
      }
    });
  });
}

void fill(StreamView stream, Scalar value, const Operand& out) {
  const auto full_loop = make_loop<1>({&out});
  dispatch_all(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T typed = scalar_as<T>(value);
    const bool aligned = reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0;
    if (aligned && full_loop.n_dims == 1 && full_loop.stride[0][0] == 1) {
      const std::int64_t count = full_loop.count();
      const std::int64_t per_block = kThreads * 16 / static_cast<std::int64_t>(sizeof(T));
      launch({"fill", stream, dim3(static_cast<unsigned>((count + per_block - 1) / per_block)),
              dim3(kThreads)},
             fill_contiguous_kernel<T>, static_cast<T*>(out.data), typed, count);
      return;
    }
    for_each_piece<1>(full_loop, {out}, [&](const Loop<1>& loop, auto& operands) {
      const auto device_loop = make_device_loop(loop, 1);
      launch({"fill", stream, grid_for(device_loop.n_vectors, 1), dim3(kThreads)}, fill_kernel<T>,
             device_loop, static_cast<T*>(operands[0].data), typed);
    });
  });
}

}  // namespace causeway::kernels::cuda
