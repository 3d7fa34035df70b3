// Conversion between element types. Bytes: the input and the output once; bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/scalar.h"

#include <algorithm>
#include <cstring>

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

// Contiguous input and output. Unaligned ones are converted element by element, with coalesced
// accesses.
template <class To, class From>
__global__ void __launch_bounds__(kThreads)
    cast_kernel(const From* in, To* out, std::uint32_t count, bool aligned) {
  constexpr int kVec = vector_width<To, From>();
  const Convert<To> convert;
  const std::uint32_t block_first = blockIdx.x * (kThreads * kVec);
  const std::uint32_t first = block_first + threadIdx.x * kVec;
  if (aligned && first + kVec <= count) {
    Vector<To, kVec> result;
    apply_vectors(convert, result, load_vector<kVec>(in + first));
    store_vector(out + first, result);
    return;
  }
  const std::uint32_t begin = aligned ? first : block_first + threadIdx.x;
  const std::uint32_t step = aligned ? 1 : kThreads;
#pragma unroll 4
  for (int i = 0; i < kVec; ++i) {
    const std::uint32_t at = begin + i * step;
    if (at < count) out[at] = static_cast<To>(convert(static_cast<Compute<From>>(in[at])));
  }
}

template <class To, class From>
void cast_contiguous(StreamView stream, const Operand& in, const Operand& out) {
  constexpr int kVec = vector_width<To, From>();
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto is_aligned = [](const void* data, std::size_t element) {
    return reinterpret_cast<std::uintptr_t>(data) % (element * kVec) == 0;
  };
  const bool aligned = is_aligned(in.data, sizeof(From)) && is_aligned(out.data, sizeof(To));
  const std::int64_t all = numel(out.shape);
  for (std::int64_t offset = 0; offset < all; offset += kMost) {
    const auto count = static_cast<std::uint32_t>(std::min(kMost, all - offset));
    launch({"cast", stream, grid_for((count + kVec - 1) / kVec, 1), dim3(kThreads)},
           cast_kernel<To, From>, static_cast<const From*>(in.data) + offset,
           static_cast<To*>(out.data) + offset, count, aligned);
  }
}

// The type whose conversions give the same bits: u8 for a stored bool; for results, the signed
// integer of the same size, since narrowing wraps.
constexpr DType source_type(DType dtype) { return dtype == DType::boolean ? DType::u8 : dtype; }
constexpr DType result_type(DType dtype) {
  if (dtype == DType::u8) return DType::i8;
  return dtype == DType::u16 ? DType::i16 : dtype;
}

// Calls body with a tag of a type that result_type returns.
template <class Body>
void dispatch_result(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::i64: return body(Tag<std::int64_t>());
    case DType::i32: return body(Tag<std::int32_t>());
    case DType::i16: return body(Tag<std::int16_t>());
    case DType::i8: return body(Tag<std::int8_t>());
    case DType::boolean: return body(Tag<bool>());
    default: return dispatch_floating(dtype, body);
  }
}

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

__device__ __forceinline__ std::int64_t element_of(std::int64_t start, std::int64_t step,
                                                   std::int64_t i) {
  return start + i * step;
}
// Rounds the product, as the CPU does.
__device__ __forceinline__ double element_of(double start, double step, std::int64_t i) {
  return __dadd_rn(start, __dmul_rn(static_cast<double>(i), step));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    sequence_kernel(T* out, T start, T step, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) out[i] = element_of(start, step, i);
}

}  // namespace

void cast(StreamView stream, const Operand& in, const Operand& out) {
  const DType from = source_type(in.dtype);
  const DType to = result_type(out.dtype);
  if (is_integer(from) && is_integer(to) && size_of(from) == size_of(to)) {
    Operand bits = out;
    bits.dtype = in.dtype;
    return copy(stream, in, bits);
  }
  dispatch_number(from, [&](auto in_tag) {
    using From = typename decltype(in_tag)::type;
    dispatch_result(to, [&](auto out_tag) {
      using To = typename decltype(out_tag)::type;
      constexpr bool kCopies = std::is_integral_v<From> && std::is_integral_v<To> &&
                               !std::is_same_v<To, bool> && sizeof(From) == sizeof(To);
      if constexpr (!std::is_same_v<From, To> && !kCopies) {
        cast_contiguous<To, From>(stream, in, out);
      }
    });
  });
}

void fill(StreamView stream, Scalar value, const Operand& out) {
  std::uint64_t bits = 0;
  dispatch_all(out.dtype, [&](auto tag) {
    const auto typed = scalar_as<typename decltype(tag)::type>(value);
    std::memcpy(&bits, &typed, sizeof(typed));
  });
  const auto full_loop = make_loop<1>({&out});
  dispatch_size(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T typed;
    std::memcpy(&typed, &bits, sizeof(typed));
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

void sequence(StreamView stream, Scalar start, Scalar step, const Operand& out) {
  const std::int64_t count = out.shape[0];
  const auto n_blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  const Launch how("sequence", stream, dim3(n_blocks), dim3(kThreads));
  if (out.dtype == DType::i64) {
    launch(how, sequence_kernel<std::int64_t>, static_cast<std::int64_t*>(out.data), start.integer,
           step.integer, count);
  } else {
    launch(how, sequence_kernel<double>, static_cast<double*>(out.data), start.real, step.real,
           count);
  }
}

}  // namespace causeway::kernels::cuda
