// Appends instructions to a function.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <initializer_list>

namespace causeway::lang {

class Builder {
 public:
  Builder(Module& module, Function& function, BlockId block = 0)
      : module_(&module), function_(&function), block_(block) {}

  Module& module() { return *module_; }
  TypeTable& types() { return module_->types; }
  Function& function() { return *function_; }
  BlockId block() const { return block_; }
  void set_block(BlockId block) { block_ = block; }
  void set_span(Span span) { span_ = span; }
  TypeId type(ValueId value) const { return (*function_)[value].type; }
  const Inst& inst(ValueId value) const { return (*function_)[value]; }

  BlockId new_block();
  // Adds a parameter value; all of them come before other instructions.
  ValueId param(const Param& param);

  ValueId emit(Op op, TypeId type, std::span<const ValueId> operands, std::int64_t imm = 0,
               BlockId first = kAbsent, BlockId second = kAbsent);
  ValueId emit(Op op, TypeId type, std::initializer_list<ValueId> operands, std::int64_t imm = 0,
               BlockId first = kAbsent, BlockId second = kAbsent) {
    return emit(op, type, std::span(operands.begin(), operands.size()), imm, first, second);
  }

  // An instruction that `append` puts into a block later, so that its regions can be built first.
  ValueId detached(Op op, TypeId type, std::span<const ValueId> operands);
  void append(ValueId id) { function_->blocks[block_].insts.push_back(id); }

  ValueId constant(TypeId type, double value);  // rounded to the type
  ValueId constant_int(TypeId type, std::int64_t value);
  ValueId boolean(bool value) { return constant_int(kBool, value ? 1 : 0); }
  ValueId index(std::int64_t value) { return constant_int(kI32, value); }
  ValueId zero(TypeId type);  // any type without arrays

  ValueId binary(Op op, ValueId a, ValueId b);  // of the type of the composite operand, or of a
  ValueId unary(Op op, ValueId a) { return emit(op, type(a), {a}); }
  ValueId compare(Op op, ValueId a, ValueId b) { return emit(op, kBool, {a, b}); }
  ValueId cast(ValueId a, TypeId to);
  ValueId extract(ValueId a, std::int64_t i);
  ValueId field(ValueId a, std::uint32_t i);

  ValueId var(TypeId type, std::string_view name = {});
  ValueId get(ValueId var) { return emit(Op::get, type(var), {var}); }
  void set(ValueId var, ValueId value) { emit(Op::set, kNone, {var, value}); }

 private:
  Module* module_;
  Function* function_;
  BlockId block_;
  Span span_;
};

// The constant as the type would hold it.
double rounded(double value, Scalar scalar);
std::int64_t wrapped(std::int64_t value, Scalar scalar);
// IEEE half precision, round to nearest even.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);

}  // namespace causeway::lang
