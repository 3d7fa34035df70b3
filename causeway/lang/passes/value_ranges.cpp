// Intervals of integer values, in one pass in program order. Variables are unbounded.
#include "causeway/lang/passes/passes.h"

#include <algorithm>

namespace causeway::lang {

namespace {

constexpr ValueRange kAnything{};

ValueRange of_type(Scalar s) {
  switch (s) {
    case Scalar::boolean: return {0, 1};
    case Scalar::i8: return {INT8_MIN, INT8_MAX};
    case Scalar::i16: return {INT16_MIN, INT16_MAX};
    case Scalar::i32: return {INT32_MIN, INT32_MAX};
    case Scalar::u8: return {0, UINT8_MAX};
    case Scalar::u16: return {0, UINT16_MAX};
    case Scalar::u32: return {0, UINT32_MAX};
    default: return kAnything;
  }
}

class Ranges {
 public:
  Ranges(const Module& module, const Function& function, const std::vector<std::int64_t>& dims)
      : module_(module), function_(function), dims_(dims), ranges_(function.insts.size()) {
    for (ValueId id = 0; id < function.insts.size(); ++id)
      ranges_[id] = type_range(function[id].type);
  }

  std::vector<ValueRange> run() {
    block(0);
    return std::move(ranges_);
  }

 private:
  ValueRange type_range(TypeId type) const {
    const bool integer =
        type != kNone && module_.types.is_scalar(type) && !is_float(module_.types[type].scalar);
    return integer ? of_type(module_.types[type].scalar) : kAnything;
  }

  void block(BlockId id) {
    for (const ValueId value : function_.blocks[id].insts) {
      const Inst& inst = function_[value];
      if (module_.types.is_int_scalar(inst.type)) ranges_[value] = within(inst, evaluated(inst));
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
    }
  }

  // A result that may leave the type's range wraps around, so it is unbounded.
  ValueRange within(const Inst& inst, ValueRange range) const {
    const ValueRange whole = type_range(inst.type);
    return range.low < whole.low || range.high > whole.high ? whole : range;
  }

  ValueRange arg(const Inst& inst, std::uint32_t i) const {
    return ranges_[function_.arg(inst, i)];
  }

  ValueRange evaluated(const Inst& inst) const {
    const ValueRange whole = type_range(inst.type);
    if (size_of(module_.types[inst.type].scalar) > 4 && inst.op != Op::constant) return whole;
    switch (inst.op) {
      case Op::constant: return {inst.imm, inst.imm};
      case Op::tid: {
        const auto d = static_cast<std::size_t>(inst.imm);
        return {0, d < dims_.size() && dims_[d] > 0 ? dims_[d] - 1 : INT32_MAX};
      }
      case Op::shape: return {0, INT32_MAX};
      case Op::add:
        return {arg(inst, 0).low + arg(inst, 1).low, arg(inst, 0).high + arg(inst, 1).high};
      case Op::sub:
        return {arg(inst, 0).low - arg(inst, 1).high, arg(inst, 0).high - arg(inst, 1).low};
      case Op::neg: return {-arg(inst, 0).high, -arg(inst, 0).low};
      case Op::mul: return product(arg(inst, 0), arg(inst, 1));
      case Op::min:
        return {std::min(arg(inst, 0).low, arg(inst, 1).low),
                std::min(arg(inst, 0).high, arg(inst, 1).high)};
      case Op::max:
        return {std::max(arg(inst, 0).low, arg(inst, 1).low),
                std::max(arg(inst, 0).high, arg(inst, 1).high)};
      case Op::select:
        return {std::min(arg(inst, 1).low, arg(inst, 2).low),
                std::max(arg(inst, 1).high, arg(inst, 2).high)};
      case Op::abs: return magnitude(arg(inst, 0));
      case Op::mod: return remainder(arg(inst, 0), arg(inst, 1));
      case Op::div:
        if (arg(inst, 1).low > 0)
          return {std::min<std::int64_t>(arg(inst, 0).low, 0),
                  std::max<std::int64_t>(arg(inst, 0).high, 0)};
        return whole;
      case Op::bit_and:
        if (arg(inst, 0).low >= 0 || arg(inst, 1).low >= 0) {
          const std::int64_t a = arg(inst, 0).low >= 0 ? arg(inst, 0).high : INT64_MAX;
          const std::int64_t b = arg(inst, 1).low >= 0 ? arg(inst, 1).high : INT64_MAX;
          return {0, std::min(a, b)};
        }
        return whole;
      case Op::cast: {
        const TypeId from = function_[function_.arg(inst, 0)].type;
        return is_float(module_.types[from].scalar) ? whole : arg(inst, 0);
      }
      case Op::loop: return induction(arg(inst, 0), arg(inst, 1), arg(inst, 2));
      default: return whole;
    }
  }

  static ValueRange product(ValueRange a, ValueRange b) {
    const std::int64_t corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }

  static ValueRange magnitude(ValueRange a) {
    if (a.low >= 0) return a;
    return {a.high <= 0 ? -a.high : 0, std::max(-a.low, a.high)};
  }

  // The sign is the dividend's.
  static ValueRange remainder(ValueRange a, ValueRange b) {
    const ValueRange size = magnitude(b);
    if (size.low == 0) return kAnything;
    const std::int64_t most = size.high - 1;
    return {a.low >= 0 ? 0 : std::max(a.low, -most), a.high <= 0 ? 0 : std::min(a.high, most)};
  }

  static ValueRange induction(ValueRange start, ValueRange stop, ValueRange step) {
    if (step.low > 0) return {start.low, std::max(start.low, stop.high - 1)};
    if (step.high < 0) return {std::min(start.high, stop.low + 1), start.high};
    return {std::min(start.low, stop.low), std::max(start.high, stop.high)};
  }

  const Module& module_;
  const Function& function_;
  const std::vector<std::int64_t>& dims_;
  std::vector<ValueRange> ranges_;
};

}  // namespace

std::vector<ValueRange> value_ranges(const Module& module, const Function& function,
                                     const std::vector<std::int64_t>& dims) {
  return Ranges(module, function, dims).run();
}

}  // namespace causeway::lang
