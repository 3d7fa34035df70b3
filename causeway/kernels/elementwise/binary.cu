// Arithmetic on two elements. Bytes: both inputs and the output once; bound by memory.
#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/elementwise/runtime_op.cuh"

namespace causeway::kernels::cuda {

namespace {

// Operations of a few instructions share a kernel; the others would raise its register count.
using Simple = RuntimeOp<functors::Add, functors::Subtract, functors::Multiply, functors::Minimum,
                         functors::Maximum>;
// Bound by arithmetic for integers.
using IntegerPower = RuntimeOp<functors::Power, functors::Remainder>;

template <class T>
void run(StreamView stream, BinaryOp op, const Operand& a, const Operand& b, const Operand& out) {
  const auto map = [&](const auto& function) {
    map_binary<true, T, T>("binary", stream, function, a, b, out);
  };
  switch (op) {
    case BinaryOp::add: return map(Simple{0});
    case BinaryOp::subtract: return map(Simple{1});
    case BinaryOp::multiply: return map(Simple{2});
    case BinaryOp::minimum: return map(Simple{3});
    case BinaryOp::maximum: return map(Simple{4});
    case BinaryOp::divide:
      if constexpr (!std::is_integral_v<T>) return map(functors::Divide());
      break;
    case BinaryOp::power:
      if constexpr (std::is_integral_v<T>) return map(IntegerPower{0});
      if constexpr (!std::is_integral_v<T>) return map(functors::Power());
      break;
    case BinaryOp::remainder:
      if constexpr (std::is_integral_v<T>) return map(IntegerPower{1});
      if constexpr (!std::is_integral_v<T>) return map(functors::Remainder());
      break;
  }
  fail(ErrorKind::internal, "binary", "integers cannot be divided; convert to a floating type");
}

}  // namespace

void binary(StreamView stream, BinaryOp op, const Operand& a, const Operand& b,
            const Operand& out) {
  dispatch_all(out.dtype,
               [&](auto tag) { run<typename decltype(tag)::type>(stream, op, a, b, out); });
}

}  // namespace causeway::kernels::cuda
