#include "causeway/lang/ir/builder.h"

#include <cmath>
#include <cstring>

namespace causeway::lang {

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const int exponent = bits >> 10 & 31;
  const std::uint32_t mantissa = bits & 1023;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t biased = exponent == 31 ? 255 : static_cast<std::uint32_t>(exponent + 112);
  return std::bit_cast<float>(sign | biased << 23 | mantissa << 13);
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Subnormal: the addition rounds to the multiple of 2^-24 that is nearest.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
  }
  const std::uint32_t rounded_bits = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded_bits - 0x38000000) >> 13));
}

double rounded(double value, Scalar scalar) {
  if (scalar == Scalar::f32) return static_cast<float>(value);
  if (scalar == Scalar::f16) return half_to_float(float_to_half(static_cast<float>(value)));
  return value;
}

std::int64_t wrapped(std::int64_t value, Scalar scalar) {
  switch (scalar) {
    case Scalar::boolean: return value != 0;
    case Scalar::i8: return static_cast<std::int8_t>(value);
    case Scalar::i16: return static_cast<std::int16_t>(value);
    case Scalar::i32: return static_cast<std::int32_t>(value);
    case Scalar::u8: return static_cast<std::uint8_t>(value);
    case Scalar::u16: return static_cast<std::uint16_t>(value);
    case Scalar::u32: return static_cast<std::uint32_t>(value);
    default: return value;
  }
}

BlockId Builder::new_block() {
  function_->blocks.emplace_back().insts.reserve(16);
  return static_cast<BlockId>(function_->blocks.size() - 1);
}

ValueId Builder::param(const Param& param) {
  function_->params.push_back(param);
  Inst inst;
  inst.op = Op::param;
  inst.type = param.type;
  inst.imm = static_cast<std::int64_t>(function_->params.size() - 1);
  inst.name = param.name;
  inst.span = span_;
  function_->insts.push_back(inst);
  return static_cast<ValueId>(function_->insts.size() - 1);
}

ValueId Builder::emit(Op op, TypeId type, std::span<const ValueId> operands, std::int64_t imm,
                      BlockId first, BlockId second) {
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.first = static_cast<std::uint32_t>(function_->operands.size());
  inst.count = static_cast<std::uint32_t>(operands.size());
  inst.blocks[0] = first;
  inst.blocks[1] = second;
  inst.imm = imm;
  inst.span = span_;
  function_->operands.insert(function_->operands.end(), operands.begin(), operands.end());
  const auto id = static_cast<ValueId>(function_->insts.size());
  function_->insts.push_back(inst);
  function_->blocks[block_].insts.push_back(id);
  return id;
}

ValueId Builder::detached(Op op, TypeId type, std::span<const ValueId> operands) {
  const ValueId id = emit(op, type, operands);
  function_->blocks[block_].insts.pop_back();
  return id;
}

ValueId Builder::constant(TypeId type, double value) {
  const Scalar scalar = types()[type].scalar;
  if (!is_float(scalar)) return constant_int(type, static_cast<std::int64_t>(value));
  return emit(Op::constant, type, {}, std::bit_cast<std::int64_t>(rounded(value, scalar)));
}

ValueId Builder::constant_int(TypeId type, std::int64_t value) {
  const Scalar scalar = types()[type].scalar;
  if (is_float(scalar)) return constant(type, static_cast<double>(value));
  return emit(Op::constant, type, {}, wrapped(value, scalar));
}

ValueId Builder::zero(TypeId type) {
  return types().is_scalar(type) ? constant_int(type, 0) : emit(Op::zero, type, {});
}

ValueId Builder::binary(Op op, ValueId a, ValueId b) {
  const TypeId type_b = type(b);
  return emit(op, types().is_composite(type_b) ? type_b : type(a), {a, b});
}

ValueId Builder::cast(ValueId a, TypeId to) {
  if (type(a) == to) return a;
  const Inst source = inst(a);
  if (source.op == Op::constant && types().is_scalar(to)) {
    const Scalar from = types()[source.type].scalar;
    if (is_float(types()[to].scalar)) {
      if (is_float(from)) return constant(to, source.real());
      if (from != Scalar::u64) return constant_int(to, source.imm);
    } else if (!is_float(from)) {
      return constant_int(to, source.imm);
    }
  }
  return emit(Op::cast, to, {a});
}

ValueId Builder::extract(ValueId a, std::int64_t i) {
  const Type& of = types()[type(a)];
  const TypeId scalar = scalar_type(of.scalar);
  if (of.kind == TypeKind::mat) {
    const ValueId row = index(i / of.cols);
    const ValueId col = index(i % types()[type(a)].cols);
    return emit(Op::extract, scalar, {a, row, col});
  }
  return emit(Op::extract, scalar, {a, index(i)});
}

ValueId Builder::field(ValueId a, std::uint32_t i) {
  return emit(Op::field, types().structure(type(a)).fields[i].type, {a}, i);
}

ValueId Builder::var(TypeId type, std::string_view name) {
  const ValueId id = emit(Op::var, type, {});
  (*function_)[id].name = name;
  return id;
}

}  // namespace causeway::lang
