#include "causeway/lang/interpret/lanes.h"
#include "causeway/lang/passes/passes.h"

#include <optional>

namespace causeway::lang {

namespace {

class Folding {
 public:
  Folding(const Module& module, Function& function)
      : module_(module), function_(function), replaced_(function.insts.size()) {
    for (ValueId id = 0; id < replaced_.size(); ++id) replaced_[id] = id;
    for (const Param& param : function.params)
      is_adjoint_ = is_adjoint_ || param.role == ParamRole::gradient;
  }

  void block(BlockId id) {
    const std::vector<ValueId> insts = std::move(function_.blocks[id].insts);
    std::vector<ValueId> kept;
    kept.reserve(insts.size());
    for (const ValueId value : insts) {
      for (ValueId& operand : function_.args(function_[value])) operand = replaced_[operand];
      const Inst inst = function_[value];
      if (inst.op == Op::branch && is_constant(function_.arg(inst, 0))) {
        const BlockId taken = inst.blocks[function_[function_.arg(inst, 0)].imm != 0 ? 0 : 1];
        block(taken);
        const auto& moved = function_.blocks[taken].insts;
        kept.insert(kept.end(), moved.begin(), moved.end());
        // Instructions after a return, break or continue are unreachable.
        if (!moved.empty() && is_exit(function_[moved.back()].op)) break;
        continue;
      }
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
      const ValueId same = simplified(inst);
      if (same != kAbsent) {
        replaced_[value] = same;
        continue;
      }
      if (const auto bits = evaluated(inst)) make_constant(value, *bits);
      kept.push_back(value);
    }
    function_.blocks[id].insts = std::move(kept);
  }

 private:
  static bool is_exit(Op op) { return op == Op::give || op == Op::leave || op == Op::proceed; }
  bool is_constant(ValueId id) const { return function_[id].op == Op::constant; }

  void make_constant(ValueId id, std::int64_t bits) {
    Inst& inst = function_[id];
    inst.op = Op::constant;
    inst.count = 0;
    inst.imm = bits;
  }

  bool is_number(ValueId id, double number) const {
    const Inst& inst = function_[id];
    if (inst.op != Op::constant || !module_.types.is_scalar(inst.type)) return false;
    return is_float(module_.types[inst.type].scalar) ? inst.real() == number
                                                     : static_cast<double>(inst.imm) == number;
  }

  bool is_zero(ValueId id) const { return function_[id].op == Op::zero || is_number(id, 0); }

  // An existing value that equals the instruction's.
  ValueId simplified(const Inst& inst) const {
    const auto a = [&](std::uint32_t i) { return function_.arg(inst, i); };
    switch (inst.op) {
      case Op::mul:
        if (is_number(a(1), 1) && function_[a(0)].type == inst.type) return a(0);
        if (is_number(a(0), 1) && function_[a(1)].type == inst.type) return a(1);
        return kAbsent;
      case Op::div: return is_number(a(1), 1) && function_[a(0)].type == inst.type ? a(0) : kAbsent;
      case Op::add:
      case Op::sub:
        // In gradients the sign of a zero does not matter.
        if (is_adjoint_ && inst.op == Op::add && is_zero(a(0))) return a(1);
        if (is_adjoint_ && inst.op == Op::add && is_zero(a(1))) return a(0);
        if (is_float(module_.types[inst.type].scalar)) return kAbsent;
        if (is_number(a(1), 0)) return a(0);
        return inst.op == Op::add && is_number(a(0), 0) ? a(1) : kAbsent;
      case Op::select: return is_constant(a(0)) ? a(function_[a(0)].imm != 0 ? 1 : 2) : kAbsent;
      case Op::logical_and:
        if (is_constant(a(0))) return function_[a(0)].imm != 0 ? a(1) : a(0);
        return is_constant(a(1)) && function_[a(1)].imm != 0 ? a(0) : kAbsent;
      case Op::logical_or:
        if (is_constant(a(0))) return function_[a(0)].imm != 0 ? a(0) : a(1);
        return is_constant(a(1)) && function_[a(1)].imm == 0 ? a(0) : kAbsent;
      case Op::extract: return component(inst);
      case Op::field: {
        const Inst& whole = function_[a(0)];
        if (whole.op == Op::make) return function_.arg(whole, static_cast<std::uint32_t>(inst.imm));
        if (whole.op == Op::insert_field && whole.imm == inst.imm) return function_.arg(whole, 1);
        return kAbsent;
      }
      default: return kAbsent;
    }
  }

  ValueId component(const Inst& inst) const {
    const Inst& whole = function_[function_.arg(inst, 0)];
    if (whole.op != Op::make) return kAbsent;
    std::int64_t at = 0;
    for (std::uint32_t i = 1; i < inst.count; ++i) {
      if (!is_constant(function_.arg(inst, i))) return kAbsent;
      at = at * module_.types[whole.type].cols + function_[function_.arg(inst, i)].imm;
    }
    if (!module_.types.is_scalar(inst.type) || at < 0 || at >= whole.count) return kAbsent;
    return function_.arg(whole, static_cast<std::uint32_t>(at));
  }

  static bool is_exact(Op op) {
    switch (op) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::mod:
      case Op::neg:
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
      case Op::bit_not:
      case Op::shl:
      case Op::shr:
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_not:
      case Op::abs:
      case Op::sign:
      case Op::sqrt:
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:
      case Op::rint:
      case Op::min:
      case Op::max:
      case Op::cast: return true;
      default: return is_compare(op);
    }
  }

  // The bits of the result if all operands are constants.
  std::optional<std::int64_t> evaluated(const Inst& inst) const {
    if (!is_exact(inst.op) || inst.count == 0 || !module_.types.is_scalar(inst.type)) return {};
    alignas(64) std::byte registers[3][kLanes * 8];
    for (std::uint32_t i = 0; i < inst.count; ++i) {
      const ValueId operand = function_.arg(inst, i);
      if (!is_constant(operand)) return {};
      const Inst& constant = function_[operand];
      const Scalar s = module_.types[constant.type].scalar;
      interpret::visit(s, [&]<class T>(T) {
        const T value =
            is_float(s) ? static_cast<T>(constant.real()) : static_cast<T>(constant.imm);
        for (int lane = 0; lane < kLanes; ++lane) reinterpret_cast<T*>(registers[i])[lane] = value;
      });
    }
    const Scalar from = module_.types[function_[function_.arg(inst, 0)].type].scalar;
    const Scalar to = module_.types[inst.type].scalar;
    const bool divides = (inst.op == Op::div || inst.op == Op::mod) && !is_float(from);
    if (divides && function_[function_.arg(inst, 1)].imm == 0) return {};
    if (inst.op == Op::cast) {
      interpret::cast_lanes(to, from, registers[2], registers[0]);
    } else if (is_compare(inst.op)) {
      interpret::compare_lanes(inst.op, from, registers[2], registers[0], registers[1]);
    } else if (inst.count == 1) {
      interpret::unary_lanes(inst.op, from, registers[2], registers[0], 1);
    } else {
      interpret::binary_lanes(inst.op, from, registers[2], registers[0], registers[1], 1);
    }
    return interpret::visit(to, [&]<class T>(T) -> std::int64_t {
      const T value = *reinterpret_cast<const T*>(registers[2]);
      if (is_float(to)) return std::bit_cast<std::int64_t>(static_cast<double>(value));
      return static_cast<std::int64_t>(value);
    });
  }

  const Module& module_;
  Function& function_;
  bool is_adjoint_ = false;
  std::vector<ValueId> replaced_;
};

}  // namespace

void fold_constants(const Module& module, Function& function) {
  Folding(module, function).block(0);
}

}  // namespace causeway::lang
