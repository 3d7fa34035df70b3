#include "causeway/lang/ir/ir.h"

#include <algorithm>

namespace causeway::lang {

namespace {

class Verifier {
 public:
  Verifier(const Module& module, const Function& function)
      : module_(module),
        types_(module.types),
        function_(function),
        visible_(function.insts.size()),
        used_(function.blocks.size()) {}

  std::string run() {
    if (function_.blocks.empty()) return "function has no body";
    for (std::size_t i = 0; i < function_.params.size(); ++i) {
      if (i >= function_.insts.size() || function_[static_cast<ValueId>(i)].op != Op::param)
        return "parameters must come first";
      visible_[i] = true;
    }
    used_[0] = true;
    block(0, kNone, false);
    return problem_;
  }

 private:
  void fail(const Inst& inst, const std::string& what) {
    if (problem_.empty()) problem_ = std::string(info(inst.op).name) + ": " + what;
  }
  TypeId type(const Inst& inst, std::uint32_t i) const {
    return function_[function_.arg(inst, i)].type;
  }
  bool is_bool(const Inst& inst, std::uint32_t i) const { return type(inst, i) == kBool; }

  // `yields` is the type that the last instruction must yield; kNone if it must not.
  void block(BlockId id, TypeId yields, bool in_loop) {
    const auto& insts = function_.blocks[id].insts;
    for (std::size_t i = 0; i < insts.size() && problem_.empty(); ++i) {
      if (insts[i] >= function_.insts.size()) {
        problem_ = "no such instruction";
        return;
      }
      const Inst& inst = function_[insts[i]];
      const bool last = i + 1 == insts.size();
      instruction(inst, in_loop);
      if (!problem_.empty()) return;
      const bool exits = inst.op == Op::yield || inst.op == Op::leave || inst.op == Op::proceed ||
                         inst.op == Op::give;
      if (exits && !last) return fail(inst, "must be the last instruction of its block");
      if (inst.op == Op::yield && (yields == kNone || type(inst, 0) != yields))
        return fail(inst, "yields the wrong type");
      visible_[insts[i]] = true;
    }
    const bool yielded = !insts.empty() && function_[insts.back()].op == Op::yield;
    if (problem_.empty() && yields != kNone && !yielded) problem_ = "a region must end with yield";
    for (const ValueId inst : insts) visible_[inst] = false;
  }

  void region(const Inst& inst, int which, TypeId yields, bool in_loop) {
    const BlockId id = inst.blocks[which];
    if (id >= function_.blocks.size() || used_[id])
      return fail(inst, "region is missing or used twice");
    used_[id] = true;
    block(id, yields, in_loop);
  }

  void instruction(const Inst& inst, bool in_loop) {
    for (const ValueId operand : function_.args(inst)) {
      if (operand >= function_.insts.size() || !visible_[operand])
        return fail(inst, "operand is not visible here");
      const bool var = function_[operand].op == Op::var;
      const bool wants_var =
          (inst.op == Op::get || inst.op == Op::set) && operand == function_.arg(inst, 0);
      if (function_[operand].type == kNone || var != wants_var)
        return fail(inst, "operand has no value");
    }
    switch (inst.op) {
      case Op::branch:
        if (inst.count != 1 || !is_bool(inst, 0)) return fail(inst, "takes a bool");
        region(inst, 0, kNone, in_loop);
        return region(inst, 1, kNone, in_loop);
      case Op::cond:
        if (inst.count != 1 || !is_bool(inst, 0) || !is_data(inst.type))
          return fail(inst, "takes a bool");
        region(inst, 0, inst.type, false);
        return region(inst, 1, inst.type, false);
      case Op::loop:
        if (inst.count != 3 || type(inst, 0) != kI32 || type(inst, 1) != kI32 ||
            type(inst, 2) != kI32 || inst.type != kI32) {
          return fail(inst, "takes three int32");
        }
        loop_value(inst, true);
        region(inst, 0, kNone, true);
        return;
      case Op::repeat:
        if (inst.count != 0) return fail(inst, "takes no operand");
        region(inst, 0, kBool, false);
        return region(inst, 1, kNone, true);
      case Op::leave:
      case Op::proceed:
        if (!in_loop) fail(inst, "is outside a loop");
        return;
      default: break;
    }
    if (inst.blocks[0] != kAbsent || inst.blocks[1] != kAbsent) return fail(inst, "has no regions");
    value(inst);
  }

  // The induction value is visible inside the loop.
  void loop_value(const Inst& inst, bool visible) {
    visible_[static_cast<std::size_t>(&inst - function_.insts.data())] = visible;
  }

  bool is_data(TypeId id) const {
    return id != kNone && id < types_.size() && !types_.is(id, TypeKind::array) &&
           !types_.is(id, TypeKind::tuple) && !types_.has_array(id);
  }
  bool is_number(TypeId id) const {
    return (types_.is_scalar(id) && id != kBool) || types_.is_composite(id);
  }
  bool same_scalar(TypeId a, TypeId b) const { return types_[a].scalar == types_[b].scalar; }

  void value(const Inst& inst) {
    const auto need = [&](bool fine, const char* what) {
      if (!fine) fail(inst, what);
      return fine;
    };
    const std::uint32_t n = inst.count;
    const TypeId t = inst.type;
    if (inst.type >= types_.size()) return fail(inst, "has an unknown type");
    switch (inst.op) {
      case Op::param: need(false, "parameters come first"); return;
      case Op::constant: need(n == 0 && types_.is_scalar(t), "is a scalar"); return;
      case Op::zero: need(n == 0 && is_data(t), "is a value"); return;
      case Op::var: need(n == 0 && is_data(t), "holds a value"); return;
      case Op::get: need(n == 1 && type(inst, 0) == t, "has the variable's type"); return;
      case Op::set:
        need(n == 2 && type(inst, 0) == type(inst, 1) && t == kNone, "takes the variable's type");
        return;
      case Op::add:
      case Op::sub:
      case Op::mod:
        need(n == 2 && (is_number(t) || types_.is(t, TypeKind::structure)) && type(inst, 0) == t &&
                 type(inst, 1) == t,
             "takes operands of its type");
        return;
      case Op::mul:
      case Op::div: {
        if (!need(n == 2 && is_number(t) && is_number(type(inst, 0)) && is_number(type(inst, 1)),
                  "takes two numbers"))
          return;
        const TypeId a = type(inst, 0);
        const TypeId b = type(inst, 1);
        const bool scaled = (a == t && types_.is_scalar(b)) || (b == t && types_.is_scalar(a)) ||
                            (a == t && b == t);
        need(scaled && same_scalar(a, b) && same_scalar(a, t), "takes operands of one scalar type");
        return;
      }
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
      case Op::shl:
      case Op::shr:
        need(n == 2 && is_number(t) && is_int(types_[t].scalar) && type(inst, 0) == t &&
                 type(inst, 1) == t,
             "takes integers of its type");
        return;
      case Op::bit_not:
        need(n == 1 && types_.is_int_scalar(t) && type(inst, 0) == t, "takes an integer");
        return;
      case Op::neg: need(n == 1 && is_number(t) && type(inst, 0) == t, "takes a number"); return;
      case Op::abs:
      case Op::sign:
        need(n == 1 && types_.is_scalar(t) && t != kBool && type(inst, 0) == t, "takes a number");
        return;
      case Op::logical_and:
      case Op::logical_or:
        need(n == 2 && t == kBool && is_bool(inst, 0) && is_bool(inst, 1), "takes two bools");
        return;
      case Op::logical_not: need(n == 1 && t == kBool && is_bool(inst, 0), "takes a bool"); return;
      case Op::select:
        need(n == 3 && is_bool(inst, 0) && is_data(t) && type(inst, 1) == t && type(inst, 2) == t,
             "takes a bool and two values");
        return;
      case Op::cast:
        need(n == 1 && types_.is_scalar(t) && types_.is_scalar(type(inst, 0)), "takes a scalar");
        return;
      case Op::isnan:
      case Op::isinf:
      case Op::isfinite:
        need(n == 1 && t == kBool && types_.is_float_scalar(type(inst, 0)), "takes a float");
        return;
      case Op::bit_count:
        need(n == 1 && t == kI32 && types_.is_int_scalar(type(inst, 0)), "takes an integer");
        return;
      case Op::pow:
      case Op::atan2:
      case Op::copysign:
        need(n == 2 && types_.is_float_scalar(t) && type(inst, 0) == t && type(inst, 1) == t,
             "takes two floats");
        return;
      case Op::min:
      case Op::max:
        need(
            n == 2 && types_.is_scalar(t) && t != kBool && type(inst, 0) == t && type(inst, 1) == t,
            "takes two numbers");
        return;
      case Op::tid:
        need(n == 0 && t == kI32 && inst.imm >= 0 && inst.imm < function_.dims,
             "names a launch dimension");
        return;
      case Op::block_sum:
      case Op::block_min:
      case Op::block_max:
        need(n == 1 && types_.is_scalar(t) && t != kBool && type(inst, 0) == t, "takes a number");
        return;
      case Op::check: need(n == 1 && is_bool(inst, 0), "takes a bool"); return;
      case Op::print:
        for (std::uint32_t i = 0; i < n; ++i)
          need(types_.is_scalar(type(inst, i)), "takes scalars");
        return;
      case Op::push: need(n == 1 && is_data(type(inst, 0)), "takes a value"); return;
      case Op::pop: need(n == 0 && is_data(t), "gives a value"); return;
      case Op::tape_check: need(n == 0, "takes no operand"); return;
      case Op::yield: need(n == 1, "takes one value"); return;
      case Op::give: return give(inst);
      case Op::call: return call(inst);
      case Op::result:
        need(n == 1 && types_.is(type(inst, 0), TypeKind::tuple) && inst.imm >= 0 &&
                 inst.imm < static_cast<std::int64_t>(types_.members(type(inst, 0)).size()) &&
                 types_.members(type(inst, 0))[static_cast<std::size_t>(inst.imm)] == t,
             "names a member of a tuple");
        return;
      default: break;
    }
    if (is_compare(inst.op)) {
      const bool equality = inst.op == Op::eq || inst.op == Op::ne;
      need(
          n == 2 && t == kBool && type(inst, 0) == type(inst, 1) &&
              (types_.is_scalar(type(inst, 0)) || (equality && types_.is_composite(type(inst, 0)))),
          "takes two values of one type");
      return;
    }
    if (is_unary_math(inst.op)) {
      need(n == 1 && types_.is_float_scalar(t) && type(inst, 0) == t, "takes a float");
      return;
    }
    composite(inst);
  }

  void give(const Inst& inst) {
    std::vector<TypeId> expected;
    if (types_.is(function_.result, TypeKind::tuple)) {
      expected = types_.members(function_.result);
    } else if (function_.result != kNone) {
      expected = {function_.result};
    }
    bool fine = inst.count == expected.size();
    for (std::uint32_t i = 0; fine && i < inst.count; ++i) fine = type(inst, i) == expected[i];
    if (!fine) fail(inst, "does not match the function's result");
  }

  void call(const Inst& inst) {
    const auto own = static_cast<std::int64_t>(&function_ - module_.functions.data());
    const bool inside = own >= 0 && own < static_cast<std::int64_t>(module_.functions.size());
    if (inst.imm < 0 ||
        inst.imm >= (inside ? own : static_cast<std::int64_t>(module_.functions.size())))
      return fail(inst, "names a function that is defined later");
    const Function& callee = module_.functions[static_cast<std::size_t>(inst.imm)];
    bool fine = callee.kind == FunctionKind::function && inst.count == callee.params.size() &&
                inst.type == callee.result;
    for (std::uint32_t i = 0; fine && i < inst.count; ++i)
      fine = type(inst, i) == callee.params[i].type;
    if (!fine) fail(inst, "does not match the function's parameters");
  }

  void composite(const Inst& inst) {
    const TypeId t = inst.type;
    const std::uint32_t n = inst.count;
    if (inst.op == Op::make) {
      bool fine = false;
      if (types_.is_composite(t)) {
        fine = n == static_cast<std::uint32_t>(types_.count(t));
        for (std::uint32_t i = 0; fine && i < n; ++i)
          fine = type(inst, i) == scalar_type(types_[t].scalar);
      } else if (types_.is(t, TypeKind::structure) && !types_.has_array(t)) {
        const auto& fields = types_.structure(t).fields;
        fine = n == fields.size();
        for (std::uint32_t i = 0; fine && i < n; ++i) fine = type(inst, i) == fields[i].type;
      }
      if (!fine) fail(inst, "does not match its type");
      return;
    }
    if (n == 0) return fail(inst, "takes operands");
    const TypeId whole = type(inst, 0);
    if (inst.op == Op::field || inst.op == Op::insert_field) {
      bool fine = types_.is(whole, TypeKind::structure) && !types_.has_array(whole) &&
                  inst.imm >= 0 &&
                  inst.imm < static_cast<std::int64_t>(types_.structure(whole).fields.size());
      if (fine) {
        const TypeId member =
            types_.structure(whole).fields[static_cast<std::size_t>(inst.imm)].type;
        fine = inst.op == Op::field ? n == 1 && t == member
                                    : n == 2 && t == whole && type(inst, 1) == member;
      }
      if (!fine) fail(inst, "does not match the struct");
      return;
    }
    if (inst.op == Op::extract || inst.op == Op::insert) return element(inst, whole);
    memory(inst, whole);
  }

  void element(const Inst& inst, TypeId whole) {
    const std::uint32_t n_indices = inst.count - (inst.op == Op::extract ? 1 : 2);
    const Type& of = types_[whole];
    const bool matrix = of.kind == TypeKind::mat;
    bool fine = types_.is_composite(whole) && inst.count >= 2 && n_indices >= 1 &&
                n_indices <= (matrix ? 2U : 1U);
    for (std::uint32_t i = 0; fine && i < n_indices; ++i) {
      const Inst& index = function_[function_.arg(inst, 1 + i)];
      const std::int64_t size = i == 0 ? of.rows : of.cols;
      fine =
          index.type == kI32 && (index.op != Op::constant || (index.imm >= 0 && index.imm < size));
    }
    if (!fine) return fail(inst, "has wrong indices");
    const TypeId part = inst.op == Op::extract ? inst.type : type(inst, inst.count - 1);
    const bool row = matrix && n_indices == 1;
    const Type& got = types_[part];
    const bool matches =
        row ? got.kind == TypeKind::vec && got.rows == of.cols && got.scalar == of.scalar
            : part == scalar_type(of.scalar);
    if (!matches || (inst.op == Op::insert && inst.type != whole))
      fail(inst, "does not match the component");
  }

  void memory(const Inst& inst, TypeId whole) {
    if (!types_.is(whole, TypeKind::array)) return fail(inst, "takes an array");
    const Type& array = types_[whole];
    if (inst.op == Op::shape) {
      if (inst.count != 1 || inst.type != kI32 || inst.imm < 0 || inst.imm >= array.ndim)
        fail(inst, "names a dimension");
      return;
    }
    const std::uint32_t n_values = inst.op == Op::load || inst.op == Op::view ? 0
                                   : inst.op == Op::atomic_cas                ? 2
                                                                              : 1;
    const std::uint32_t n_indices = inst.count - 1 - n_values;
    bool fine =
        inst.count > n_values &&
        (inst.op == Op::view ? n_indices >= 1 && n_indices < array.ndim : n_indices == array.ndim);
    for (std::uint32_t i = 0; fine && i < n_indices; ++i)
      fine = types_.is_int_scalar(type(inst, 1 + i));
    for (std::uint32_t i = 0; fine && i < n_values; ++i)
      fine = type(inst, 1 + n_indices + i) == array.element;
    if (!fine) return fail(inst, "does not match the array");
    if (inst.op == Op::view) {
      const Type& part = types_[inst.type];
      if (part.kind != TypeKind::array || part.element != array.element ||
          part.ndim + n_indices != array.ndim)
        fail(inst, "has the wrong type");
      return;
    }
    if (inst.type != (inst.op == Op::store ? kNone : array.element))
      return fail(inst, "has the wrong type");
    const bool structure =
        types_.is(array.element, TypeKind::structure) && inst.op != Op::atomic_add;
    if (is_atomic(inst.op) && (structure || array.element == kBool))
      fail(inst, "does not take these elements");
    const bool bits =
        inst.op == Op::atomic_and || inst.op == Op::atomic_or || inst.op == Op::atomic_xor;
    if (bits && !types_.is_int_scalar(array.element)) fail(inst, "takes integers");
    if ((inst.op == Op::atomic_cas || inst.op == Op::atomic_exch) &&
        !types_.is_scalar(array.element))
      fail(inst, "takes scalars");
  }

  const Module& module_;
  const TypeTable& types_;
  const Function& function_;
  std::vector<bool> visible_;
  std::vector<bool> used_;
  std::string problem_;
};

}  // namespace

std::string verify(const Module& module, const Function& function) {
  return Verifier(module, function).run();
}

}  // namespace causeway::lang
