#include "causeway/kernels/matmul/bf16_product_cpu.h"

namespace causeway::kernels::cpu {

namespace {

thread_local const Bf16Kernels* in_use = nullptr;

}  // namespace

// bf16_product_arm.cpp and bf16_product_x86.cpp have those of their processors.
#if !defined(__x86_64__) && (!defined(__aarch64__) || defined(__clang__))
std::span<const Bf16Kernels> bf16_paths() { return {}; }
#endif

Bf16Products::Bf16Products(bool on) : before_(in_use) {
  in_use = on && !bf16_paths().empty() ? &bf16_paths().front() : nullptr;
}
Bf16Products::Bf16Products(const Bf16Kernels& kernels) : before_(in_use) { in_use = &kernels; }
Bf16Products::~Bf16Products() { in_use = before_; }

const Bf16Kernels* Bf16Products::kernels() { return in_use; }

}  // namespace causeway::kernels::cpu
