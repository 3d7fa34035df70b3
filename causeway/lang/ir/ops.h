// The operations of the IR, one line each: identifier, name in IR text, traits.
#pragma once

#include <cstdint>
#include <string_view>

namespace causeway::lang {

// Traits: p pure (no effect, cannot fail, depends on operands only), r reads state, t may fail
// (integer division), e has an effect, c controls flow.
// clang-format off
#define CAUSEWAY_LANG_OPS(X) \
  X(param, "param", 'p') X(constant, "const", 'p') X(zero, "zero", 'p') X(var, "var", 'e') \
  X(get, "get", 'r') X(set, "set", 'e') X(add, "add", 'p') X(sub, "sub", 'p') \
  X(mul, "mul", 'p') X(div, "div", 't') X(mod, "mod", 't') X(neg, "neg", 'p') \
  X(bit_and, "and", 'p') X(bit_or, "or", 'p') X(bit_xor, "xor", 'p') X(bit_not, "not", 'p') \
  X(shl, "shl", 'p') X(shr, "shr", 'p') X(logical_and, "land", 'p') X(logical_or, "lor", 'p') \
  X(logical_not, "lnot", 'p') X(eq, "eq", 'p') X(ne, "ne", 'p') X(lt, "lt", 'p') \
  X(le, "le", 'p') X(gt, "gt", 'p') X(ge, "ge", 'p') X(select, "select", 'p') \
  X(cast, "cast", 'p') X(abs, "abs", 'p') X(sign, "sign", 'p') X(sqrt, "sqrt", 'p') \
  X(cbrt, "cbrt", 'p') X(exp, "exp", 'p') X(log, "log", 'p') X(log2, "log2", 'p') \
  X(log10, "log10", 'p') X(sin, "sin", 'p') X(cos, "cos", 'p') X(tan, "tan", 'p') \
  X(asin, "asin", 'p') X(acos, "acos", 'p') X(atan, "atan", 'p') X(sinh, "sinh", 'p') \
  X(cosh, "cosh", 'p') X(tanh, "tanh", 'p') X(floor, "floor", 'p') X(ceil, "ceil", 'p') \
  X(trunc, "trunc", 'p') X(round, "round", 'p') X(rint, "rint", 'p') X(erf, "erf", 'p') \
  X(erfc, "erfc", 'p') X(erfinv, "erfinv", 'p') X(erfcinv, "erfcinv", 'p') \
  X(isnan, "isnan", 'p') X(isinf, "isinf", 'p') X(isfinite, "isfinite", 'p') \
  X(bit_count, "bit_count", 'p') X(pow, "pow", 'p') X(atan2, "atan2", 'p') X(min, "min", 'p') \
  X(max, "max", 'p') X(copysign, "copysign", 'p') X(make, "make", 'p') \
  X(extract, "extract", 'p') X(insert, "insert", 'p') X(field, "field", 'p') \
  X(insert_field, "insert_field", 'p') X(tid, "tid", 'p') X(shape, "shape", 'p') \
  X(view, "view", 'p') X(load, "load", 'r') X(store, "store", 'e') \
  X(atomic_add, "atomic_add", 'e') X(atomic_sub, "atomic_sub", 'e') \
  X(atomic_min, "atomic_min", 'e') X(atomic_max, "atomic_max", 'e') \
  X(atomic_and, "atomic_and", 'e') X(atomic_or, "atomic_or", 'e') \
  X(atomic_xor, "atomic_xor", 'e') X(atomic_exch, "atomic_exch", 'e') \
  X(atomic_cas, "atomic_cas", 'e') X(block_sum, "block_sum", 'e') \
  X(block_min, "block_min", 'e') X(block_max, "block_max", 'e') X(call, "call", 'r') \
  X(result, "result", 'p') X(branch, "if", 'c') X(loop, "for", 'c') X(repeat, "while", 'c') \
  X(cond, "cond", 'c') X(yield, "yield", 'c') X(leave, "break", 'c') \
  X(proceed, "continue", 'c') X(give, "return", 'c') X(check, "assert", 'e') \
  X(print, "print", 'e') X(push, "push", 'e') X(pop, "pop", 'e') \
  X(tape_check, "tape_check", 'e')
// clang-format on

enum class Op : std::uint8_t {
#define CAUSEWAY_LANG_OP(id, name, trait) id,
  CAUSEWAY_LANG_OPS(CAUSEWAY_LANG_OP)
#undef CAUSEWAY_LANG_OP
};

struct OpInfo {
  std::string_view name;
  char trait;
};

inline constexpr OpInfo kOpInfos[] = {
#define CAUSEWAY_LANG_OP(id, name, trait) {name, trait},
    CAUSEWAY_LANG_OPS(CAUSEWAY_LANG_OP)
#undef CAUSEWAY_LANG_OP
};

constexpr const OpInfo& info(Op op) { return kOpInfos[static_cast<int>(op)]; }
// The operation of that name in IR text; false if there is none.
bool find_op(std::string_view name, Op& op);

constexpr bool is_unary_math(Op op) { return op >= Op::sqrt && op <= Op::erfcinv; }
constexpr bool is_compare(Op op) { return op >= Op::eq && op <= Op::ge; }
constexpr bool is_atomic(Op op) { return op >= Op::atomic_add && op <= Op::atomic_cas; }

}  // namespace causeway::lang
