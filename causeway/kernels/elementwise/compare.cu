// Comparison of two elements, and selection between two. Bytes: the inputs and the output once;
// bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/elementwise/runtime_op.cuh"
#include "causeway/kernels/elementwise/elementwise.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kItems = 4;

// In the order of CompareOp.
using Comparison = RuntimeOp<functors::Equal, functors::NotEqual, functors::Less,
                             functors::LessEqual, functors::Greater, functors::GreaterEqual,
                             functors::LogicalAnd, functors::LogicalOr, functors::LogicalXor>;
static_assert(static_cast<int>(CompareOp::equal) == 0 && static_cast<int>(CompareOp::less) == 2 &&
              static_cast<int>(CompareOp::logical_xor) == 8);

template <class T>
__global__ void __launch_bounds__(kThreads)
    where_kernel(DeviceLoop<4> loop, T* out, Input<bool> condition, Input<T> a, Input<T> b) {
  const std::uint32_t first = blockIdx.x * (kThreads * kItems) + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t index = first + item * kThreads;
    if (index >= loop.n_vectors) return;
    std::int64_t offset[4];
    loop.offsets(index, offset);
    out[offset[0]] = condition.load_one(offset[1]) ? a.load_one(offset[2]) : b.load_one(offset[3]);
  }
}

}  // namespace

void compare(StreamView stream, CompareOp op, const Operand& a, const Operand& b,
             const Operand& out) {
  dispatch_all(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_binary<false, bool, T>("compare", stream, Comparison{static_cast<int>(op)}, a, b, out);
  });
}

void where(StreamView stream, const Operand& condition, const Operand& a, const Operand& b,
           const Operand& out) {
  for_each_piece<4>(
      make_loop<4>({&out, &condition, &a, &b}), {out, condition, a, b},
      [&](const Loop<4>& loop, auto& operands) {
        dispatch_size(out.dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          const auto device_loop = make_device_loop(loop, 1);
          launch({"where", stream, grid_for(device_loop.n_vectors, kItems), dim3(kThreads)},
                 where_kernel<T>, device_loop, static_cast<T*>(operands[0].data),
                 make_input<bool>(operands[1], 1), make_input<T>(operands[2], 1),
                 make_input<T>(operands[3], 1));
        });
      });
}

}  // namespace causeway::kernels::cuda
