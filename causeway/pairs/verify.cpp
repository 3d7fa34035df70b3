#include "causeway/pairs/verify.h"

#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/ir/builder.h"
#include "causeway/pairs/generate/dice.h"

#include <cmath>
#include <cstring>

namespace causeway::pairs {

namespace {

using lang::Function;
using lang::Module;
using lang::Scalar;

constexpr double kLargest = 1e30;

// Calls f(value) for every floating-point scalar of the memory; stops where f returns false.
template <class F>
bool all_floats(const Module& module, lang::TypeId type, const std::vector<std::byte>& bytes, F f) {
  if (module.types.is(type, lang::TypeKind::array)) type = module.types[type].element;
  std::vector<lang::Leaf> leaves;
  module.types.leaves(type, leaves);
  const std::size_t size = module.types.size_bytes(type);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    for (const lang::Leaf& leaf : leaves) {
      const std::byte* place = bytes.data() + at + leaf.offset;
      double value = 0;
      if (leaf.scalar == Scalar::f64) {
        std::memcpy(&value, place, 8);
      } else if (leaf.scalar == Scalar::f32) {
        float number = 0;
        std::memcpy(&number, place, 4);
        value = number;
      } else if (leaf.scalar == Scalar::f16) {
        std::uint16_t half = 0;
        std::memcpy(&half, place, 2);
        value = lang::half_to_float(half);
      } else {
        continue;
      }
      if (!f(value)) return false;
    }
  }
  return true;
}

// Arrays whose elements are not all the same bytes: a kernel that stores one number everywhere
// teaches nothing. One-element arrays must differ from what they held before.
bool varies(const Program& program, const Memory& before, const Memory& after) {
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!program.parameters[i].written) continue;
    const std::vector<std::byte>& bytes = after.bytes[i];
    if (bytes == before.bytes[i]) return false;
    std::size_t count = 1;
    for (const std::int64_t dim : after.shapes[i]) count *= static_cast<std::size_t>(dim);
    if (count < 4) continue;
    const std::size_t size = bytes.size() / count;
    bool same = true;
    for (std::size_t k = 1; k < count && same; ++k)
      same = std::memcmp(bytes.data(), bytes.data() + k * size, size) == 0;
    if (same) return false;
  }
  return true;
}

// The adjoint in float64 against central differences.
class AdjointCheck {
 public:
  AdjointCheck(const Program& program, const InputSet& set) : program_(program), set_(set) {
    lang::CompileOptions options;
    options.promote_floats = true;
    module_ = lang::compile("kernel.py", program.source, options);
    kernel_ = module_.find(program.kernel);
    adjoint_ = lang::add_adjoint(module_, kernel_);
    dims_ = launch_dims(program, set_);
    inputs_ = make_memory(program, set_, module_, forward());
  }

  void run(Verification& result) {
    const std::vector<std::vector<double>> gradients = backward();
    lang::Interpreter interpreter(module_, kernel_);
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const Parameter& parameter = program_.parameters[i];
      if (gradients[i].empty() || (parameter.written && parameter.fill == Fill::constant)) continue;
      compare(i, gradients[i], interpreter, result);
      if (result.rejection != Rejection::none) return;
    }
  }

 private:
  const Function& forward() const { return module_.functions[static_cast<std::size_t>(kernel_)]; }
  bool floats(std::size_t i) const { return module_.types.has_float(forward().params[i].type); }

  // The weight of output k in the sum that is differentiated, and the direction of input k.
  double weight(std::size_t parameter, std::size_t k) const {
    return static_cast<double>(mix(set_.seed + parameter * 7919 + k) >> 11) * 0x1p-53 - 0.5;
  }
  double direction(std::size_t parameter, std::size_t k) const {
    return weight(parameter + 100, k) < 0 ? -1 : 1;
  }

  // Calls f(place, k) for every double of the parameter's memory.
  template <class F>
  void each_double(std::size_t i, std::vector<std::byte>& bytes, F f) const {
    lang::TypeId type = forward().params[i].type;
    if (module_.types.is(type, lang::TypeKind::array)) type = module_.types[type].element;
    std::vector<lang::Leaf> leaves;
    module_.types.leaves(type, leaves);
    const std::size_t size = module_.types.size_bytes(type);
    std::size_t k = 0;
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
      for (const lang::Leaf& leaf : leaves) {
        if (leaf.scalar != Scalar::f64) continue;
        double value = 0;
        std::memcpy(&value, bytes.data() + at + leaf.offset, 8);
        f(value, k++);
        std::memcpy(bytes.data() + at + leaf.offset, &value, 8);
      }
    }
  }

  double objective(Memory memory, lang::Interpreter& interpreter) const {
    interpreter.launch(dims_, memory.arguments(module_, forward()));
    double sum = 0;
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      if (!program_.parameters[i].written || !floats(i)) continue;
      each_double(i, memory.bytes[i],
                  [&](double value, std::size_t k) { sum += weight(i, k) * value; });
    }
    return sum;
  }

  // The gradient of every parameter that floats.
  std::vector<std::vector<double>> backward() const {
    const Function& adjoint = module_.functions[static_cast<std::size_t>(adjoint_)];
    Memory after = inputs_;
    lang::Interpreter(module_, kernel_).launch(dims_, after.arguments(module_, forward()));
    Memory memory = inputs_;
    const std::size_t n = program_.parameters.size();
    std::vector<std::size_t> places(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (adjoint.params[i].content == lang::ArrayContent::after) memory.bytes[i] = after.bytes[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!floats(i)) continue;
      std::vector<std::byte> gradient(inputs_.bytes[i].size());
      if (program_.parameters[i].written)
        each_double(i, gradient, [&](double& value, std::size_t k) { value = weight(i, k); });
      places[i] = memory.bytes.size();
      memory.bytes.push_back(std::move(gradient));
      memory.shapes.push_back(inputs_.shapes[i].empty() ? std::vector<std::int64_t>{1}
                                                        : inputs_.shapes[i]);
    }
    lang::Interpreter(module_, adjoint_).launch(dims_, memory.arguments(module_, adjoint));
    std::vector<std::vector<double>> result(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!floats(i)) continue;
      each_double(i, memory.bytes[places[i]],
                  [&](double value, std::size_t) { result[i].push_back(value); });
    }
    return result;
  }

  void compare(std::size_t i, const std::vector<double>& gradient, lang::Interpreter& interpreter,
               Verification& result) const {
    constexpr double kStep = 1e-6;
    constexpr double kTolerance = 1e-5;
    double expected = 0;
    double error = 0;
    double slope = 0;
    for (std::size_t k = 0; k < gradient.size(); ++k) slope += gradient[k] * direction(i, k);
    // A kink or jump inside the step spoils a difference: a smaller step decides.
    for (const double step : {kStep, kStep / 16}) {
      double values[2];
      for (int side = 0; side < 2; ++side) {
        Memory moved = inputs_;
        const double signed_step = side == 0 ? step : -step;
        each_double(i, moved.bytes[i],
                    [&](double& value, std::size_t k) { value += signed_step * direction(i, k); });
        values[side] = objective(std::move(moved), interpreter);
      }
      expected = (values[0] - values[1]) / (2 * step);
      error = std::fabs(expected - slope) / (1 + std::fabs(expected));
      if (error < kTolerance) break;
    }
    ++result.derivatives;
    result.worst_derivative = std::max(result.worst_derivative, error);
    if (!(error < kTolerance)) {
      result.rejection = Rejection::adjoint;
      result.detail = program_.parameters[i].name + ": adjoint " + std::to_string(slope) +
                      ", finite difference " + std::to_string(expected);
    }
  }

  const Program& program_;
  const InputSet& set_;
  Module module_;
  int kernel_ = -1;
  int adjoint_ = -1;
  std::vector<std::int64_t> dims_;
  Memory inputs_;
};

}  // namespace

std::string_view name_of(Tolerance tolerance) {
  constexpr std::string_view kNames[] = {"exact", "close", "unordered"};
  return kNames[static_cast<int>(tolerance)];
}

Tolerance tolerance_of(const Module& module, const Function& kernel) {
  using lang::Op;
  Tolerance result = Tolerance::exact;
  for (const lang::Inst& inst : kernel.insts) {
    const bool sums = inst.op == Op::atomic_add || inst.op == Op::atomic_sub;
    if (sums && module.types.has_float(kernel[kernel.args(inst).back()].type))
      return Tolerance::unordered;
    if (inst.op == Op::call) {
      const Function& callee = module.functions[static_cast<std::size_t>(inst.imm)];
      result = std::max(result, tolerance_of(module, callee));
    }
    const bool rounds = inst.op >= Op::floor && inst.op <= Op::rint;  // and sqrt: correctly rounded
    const bool approximates = inst.op >= Op::cbrt && inst.op <= Op::erfcinv && !rounds;
    if (approximates || inst.op == Op::pow || inst.op == Op::atan2)
      result = std::max(result, Tolerance::close);
  }
  return result;
}

std::string_view name_of(Rejection rejection) {
  constexpr std::string_view kNames[kRejections] = {
      "none",    "refused", "failed", "not_finite", "constant", "adjoint",  "duplicate",
      "similar", "compile", "cpp",    "gpu",        "variant",  "excluded", "no_gradient"};
  return kNames[static_cast<int>(rejection)];
}

std::uint64_t output_hash(const Program& program, const Memory& memory) {
  std::uint64_t hash = fnv(nullptr, 0);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (program.parameters[i].written)
      hash = fnv(memory.bytes[i].data(), memory.bytes[i].size(), hash);
  }
  return hash;
}

void run_program(const Program& program, const InputSet& set, const Module& module, int kernel,
                 Verification& result) {
  const Function& function = module.functions[static_cast<std::size_t>(kernel)];
  Memory memory = make_memory(program, set, module, function);
  const Memory before = memory;
  try {
    lang::Interpreter(module, kernel)
        .launch(launch_dims(program, set), memory.arguments(module, function));
  } catch (const Error& error) {
    result.rejection = Rejection::failed;
    result.detail = error.what();
    return;
  }
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!program.parameters[i].written) continue;
    const bool finite = all_floats(module, function.params[i].type, memory.bytes[i],
                                   [](double value) { return std::fabs(value) < kLargest; });
    if (finite) continue;
    result.rejection = Rejection::not_finite;
    result.detail =
        program.parameters[i].name + " on the input set " + std::string(name_of(set.kind));
    return;
  }
  if (set.kind == SetKind::usual && !varies(program, before, memory)) {
    result.rejection = Rejection::constant;
    result.detail = "the results do not depend on the inputs";
    return;
  }
  result.hashes.push_back(output_hash(program, memory));
}

void check_adjoint(const Program& program, const InputSet& set, Verification& verification) {
  try {
    AdjointCheck(program, set).run(verification);
  } catch (const Error& error) {
    verification.rejection = Rejection::adjoint;
    verification.detail = error.what();
  }
}

}  // namespace causeway::pairs
