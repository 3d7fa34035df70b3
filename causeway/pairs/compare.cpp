#include "causeway/pairs/compare.h"

#include "causeway/lang/ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace causeway::pairs {

namespace {

using lang::Scalar;

template <class T>
double read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

double value_at(const std::byte* at, Scalar scalar) {
  switch (scalar) {
    case Scalar::boolean:
    case Scalar::u8: return read<std::uint8_t>(at);
    case Scalar::i8: return read<std::int8_t>(at);
    case Scalar::i16: return read<std::int16_t>(at);
    case Scalar::u16: return read<std::uint16_t>(at);
    case Scalar::i32: return read<std::int32_t>(at);
    case Scalar::u32: return read<std::uint32_t>(at);
    case Scalar::i64: return read<std::int64_t>(at);
    case Scalar::u64: return read<std::uint64_t>(at);
    case Scalar::f32: return read<float>(at);
    case Scalar::f64: return read<double>(at);
    case Scalar::f16: break;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, at, sizeof(half));
  return lang::half_to_float(half);
}

double limit_of(const lang::Module& module, const lang::Function& kernel) {
  double limit = 1e-8;
  std::vector<lang::Leaf> leaves;
  for (const lang::Param& param : kernel.params) {
    const lang::Type& type = module.types[param.type];
    module.types.leaves(type.kind == lang::TypeKind::array ? type.element : param.type, leaves);
  }
  for (const lang::Leaf& leaf : leaves) {
    if (leaf.scalar == Scalar::f32) limit = std::max(limit, 1e-3);
    if (leaf.scalar == Scalar::f16) limit = std::max(limit, 2e-2);
  }
  return limit;
}

// The largest magnitude of the floating-point values of all arrays, inputs included.
double largest_of(const lang::Module& module, const lang::Function& kernel, const Memory& memory) {
  double largest = 0;
  std::vector<lang::Leaf> leaves;
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
    const lang::Type& type = module.types[kernel.params[i].type];
    if (type.kind != lang::TypeKind::array) continue;
    const std::size_t size = module.types.size_bytes(type.element);
    leaves.clear();
    module.types.leaves(type.element, leaves);
    for (std::size_t at = 0; at + size <= memory.bytes[i].size(); at += size) {
      for (const lang::Leaf& leaf : leaves) {
        if (!lang::is_float(leaf.scalar)) continue;
        const double value = value_at(memory.bytes[i].data() + at + leaf.offset, leaf.scalar);
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
      }
    }
  }
  return largest;
}

}  // namespace

std::string difference(const Program& program, const lang::Module& module,
                       const lang::Function& kernel, const Memory& expected, const Memory& found,
                       Tolerance tolerance) {
  const double limit = tolerance == Tolerance::exact ? 0 : limit_of(module, kernel);
  // Sums that cancel keep the rounding errors of their terms.
  const double terms =
      tolerance == Tolerance::exact ? 0 : 0.001 * largest_of(module, kernel, expected);
  std::vector<lang::Leaf> leaves;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!program.parameters[i].written) continue;
    const lang::TypeId element = module.types[kernel.params[i].type].element;
    const std::size_t size = module.types.size_bytes(element);
    leaves.clear();
    module.types.leaves(element, leaves);
    const std::vector<std::byte>& ours = expected.bytes[i];
    const auto each = [&](auto f) {
      for (std::size_t at = 0; at + size <= ours.size(); at += size) {
        for (const lang::Leaf& leaf : leaves) {
          if (!f(at + leaf.offset, leaf.scalar)) return false;
        }
      }
      return true;
    };
    double largest = 1e-6;
    each([&](std::size_t at, Scalar scalar) {
      largest = std::max(largest, std::fabs(value_at(ours.data() + at, scalar)));
      return true;
    });
    std::string problem;
    each([&](std::size_t at, Scalar scalar) {
      const std::byte* a = ours.data() + at;
      const std::byte* b = found.bytes[i].data() + at;
      if (std::memcmp(a, b, lang::size_of(scalar)) == 0) return true;
      const double wanted = value_at(a, scalar);
      const double got = value_at(b, scalar);
      // minima and maxima of zeros may have either sign
      if (lang::is_float(scalar) && wanted == 0 && got == 0) return true;
      const double scale = std::max({std::fabs(wanted), 0.01 * largest, terms});
      if (tolerance != Tolerance::exact && std::fabs(wanted - got) <= limit * scale) return true;
      problem = fmt::format("{}[{}]: expected {}, got {}", program.parameters[i].name, at / size,
                            wanted, got);
      return false;
    });
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace causeway::pairs
