// Values as C++ expressions, with no more parentheses than needed.
#include "causeway/lang/emit/writer.h"

#include <fmt/format.h>

namespace causeway::lang::emit_text {

std::string FunctionWriter::expr(ValueId id, int least) {
  if (!inlining_.inlined(id) || function_[id].op == Op::param) {
    return names_[id].empty() ? name_of(id) : names_[id];
  }
  int precedence = kPostfix;
  std::string text = raw(id, precedence);
  return precedence < least ? "(" + text + ")" : text;
}

std::string FunctionWriter::raw(ValueId id, int& precedence) {
  const Inst& inst = function_[id];
  switch (inst.op) {
    case Op::constant: {
      std::string text = program_.literal(inst.type, inst);
      if (text[0] == '-' || text[0] == '(') precedence = text[0] == '-' ? kUnary : kPostfix;
      return text;
    }
    case Op::zero: return program_.type(inst.type) + "{}";
    case Op::tid: return thread_names_[static_cast<std::size_t>(inst.imm)];
    case Op::shape: return shape_name(function_.arg(inst, 0), static_cast<int>(inst.imm));
    case Op::get: return names_[function_.arg(inst, 0)];
    case Op::load: return element(inst, inst.count - 1);
    case Op::call: return call(inst, precedence);
    case Op::result:
      return expr(function_.arg(inst, 0), kPostfix) + "." + static_cast<char>('a' + inst.imm);
    case Op::cast: return cast(inst, precedence);
    case Op::make: return make(inst, precedence);
    case Op::extract: return extract(inst, precedence);
    case Op::field: {
      const ValueId whole = function_.arg(inst, 0);
      const std::string_view name = module_.types.structure(function_[whole].type)
                                        .fields[static_cast<std::size_t>(inst.imm)]
                                        .name;
      return expr(whole, kPostfix) + "." + std::string(name) + (is_reserved(name) ? "_" : "");
    }
    case Op::select:
    case Op::cond: return conditional(inst, precedence);
    case Op::view: {
      const auto operands = function_.args(inst);
      precedence = kSum;
      return array_name(operands[0]) + " + " +
             offset(operands[0], operands.subspan(1), false, kSum + 1);
    }
    default: return arithmetic(inst, precedence);
  }
}

std::string FunctionWriter::binary_text(ValueId a, ValueId b, std::string_view op, int level,
                                        int& precedence) {
  precedence = level;
  // Confusing mixtures of operators get parentheses that C++ does not require.
  const bool bits = level >= kBitOr && level <= kBitAnd;
  const int left = bits || level == kShift ? kUnary : level == kOr ? kEquality : level;
  const int right = bits || level == kShift ? kUnary : level == kOr ? kEquality : level + 1;
  std::string text = expr(a, level == kOr ? kBitOr : left);
  if (level == kOr && inlining_.inlined(a) && function_[a].op == Op::logical_or)
    text = expr(a, kOr);
  text.append(" ").append(op).append(" ").append(expr(b, level == kOr ? kBitOr : right));
  return text;
}

// C++ promotes types smaller than int, so the result is converted back.
std::string FunctionWriter::narrow(const Inst& inst, std::string value, int& precedence) {
  const Type& of = module_.types[inst.type];
  const bool half = of.scalar == Scalar::f16 && !program_.native_half_ops();
  if (of.kind != TypeKind::scalar ||
      (!half && (is_float(of.scalar) || of.scalar == Scalar::boolean || size_of(of.scalar) >= 4)))
    return value;
  const std::string inner = precedence < kUnary ? "(" + value + ")" : value;
  precedence = kUnary;
  return "(" + program_.type(inst.type) + ")" + inner;
}

std::string FunctionWriter::arithmetic(const Inst& inst, int& precedence) {
  const ValueId a = function_.arg(inst, 0);
  const ValueId b = inst.count > 1 ? function_.arg(inst, 1) : a;
  const TypeTable& types = module_.types;
  const bool composite = types.is_composite(inst.type);
  const Scalar s = types[inst.type].scalar;
  if (types.is(inst.type, TypeKind::structure)) {
    program_.need_struct_sum(inst.type);
    return binary_text(a, b, "+", kSum, precedence);
  }
  if (composite) program_.need_operator(inst.op, function_[a].type, function_[b].type, inst.type);
  const auto infix = [&](std::string_view op, int level) {
    std::string text;
    if (!composite && s == Scalar::f16 && !program_.native_half_ops() && level > kEquality) {
      precedence = level;
      text = "(float)" + expr(a, kUnary) + " " + std::string(op) + " (float)" + expr(b, kUnary);
    } else {
      text = binary_text(a, b, op, level, precedence);
    }
    return composite ? text : narrow(inst, text, precedence);
  };
  switch (inst.op) {
    case Op::add: return infix("+", kSum);
    case Op::sub: return infix("-", kSum);
    case Op::mul: return infix("*", kProduct);
    case Op::div: return infix("/", kProduct);
    case Op::mod:
      if (composite || !is_float(s)) return infix("%", kProduct);
      break;
    case Op::bit_and: return infix("&", kBitAnd);
    case Op::bit_or: return infix("|", kBitOr);
    case Op::bit_xor: return infix("^", kBitXor);
    case Op::shl: return infix("<<", kShift);
    case Op::shr: return infix(">>", kShift);
    case Op::logical_and: return binary_text(a, b, "&&", kAnd, precedence);
    case Op::logical_or: return binary_text(a, b, "||", kOr, precedence);
    case Op::eq:
    case Op::ne:
      if (types.is_composite(function_[a].type)) {
        program_.need_equal(function_[a].type);
        const std::string same = expr(a, kRelation) + " == " + expr(b, kRelation);
        precedence = inst.op == Op::eq ? kEquality : kUnary;
        return inst.op == Op::eq ? same : "!(" + same + ")";
      }
      return binary_text(a, b, inst.op == Op::eq ? "==" : "!=", kEquality, precedence);
    case Op::lt: return binary_text(a, b, "<", kRelation, precedence);
    case Op::le: return binary_text(a, b, "<=", kRelation, precedence);
    case Op::gt: return binary_text(a, b, ">", kRelation, precedence);
    case Op::ge: return binary_text(a, b, ">=", kRelation, precedence);
    case Op::neg: {
      precedence = kUnary;
      const std::string inner = expr(a, kUnary);
      const std::string text = inner[0] == '-' ? "-(" + inner + ")" : "-" + inner;
      return composite ? text : narrow(inst, text, precedence);
    }
    case Op::bit_not: precedence = kUnary; return narrow(inst, "~" + expr(a, kUnary), precedence);
    case Op::logical_not: {
      precedence = kUnary;
      return "!" + expr(a, kUnary);
    }
    default: break;
  }
  return math(inst, precedence);
}

std::string FunctionWriter::math(const Inst& inst, int& precedence) {
  const ValueId a = function_.arg(inst, 0);
  const Scalar s = module_.types[function_[a].type].scalar;
  const bool test = inst.op == Op::isnan || inst.op == Op::isinf || inst.op == Op::isfinite;
  const bool half = s == Scalar::f16;
  const std::string x = half ? "(float)" + expr(a, kUnary) : expr(a);
  const std::string y = inst.count > 1 ? (half ? "(float)" : "") +
                                             expr(function_.arg(inst, 1), half ? int{kUnary} : 0)
                                       : "";
  std::string name(info(inst.op).name);
  if (inst.op == Op::sign) return program_.need_sign(inst.type) + "(" + expr(a) + ")";
  if (test) {
    if (!program_.cuda()) name = "std::" + name;
    return name + "(" + x + ")";
  }
  if (inst.op == Op::bit_count) {
    const bool wide = size_of(s) == 8;
    const std::string unsigned_x =
        size_of(s) < 4 && !is_unsigned(s)
            ? (size_of(s) == 1 ? "(unsigned char)" : "(unsigned short)") + expr(a, kUnary)
            : x;
    if (program_.cuda()) return (wide ? "__popcll(" : "__popc(") + unsigned_x + ")";
    return (wide ? "__builtin_popcountll(" : "__builtin_popcount(") + unsigned_x + ")";
  }
  if (!is_float(s)) {
    if (inst.op == Op::abs) {
      if (is_unsigned(s)) return expr(a, kPostfix);
      precedence = kTernary;
      const std::string text =
          expr(a, kRelation + 1) + " < 0 ? -" + expr(a, kUnary) + " : " + expr(a, kTernary);
      return narrow(inst, text, precedence);
    }
    const std::string_view op = inst.op == Op::min ? " < " : " > ";
    precedence = kTernary;
    const ValueId b = function_.arg(inst, 1);
    if (program_.cuda() && size_of(s) >= 4) {
      precedence = kPostfix;
      return name + "(" + x + ", " + y + ")";
    }
    return expr(a, kRelation + 1) + std::string(op) + expr(b, kRelation + 1) + " ? " +
           expr(a, kTernary + 1) + " : " + expr(b, kTernary);
  }
  if (inst.op == Op::abs) name = "fabs";
  if (inst.op == Op::min) name = "fmin";
  if (inst.op == Op::max) name = "fmax";
  if (inst.op == Op::mod) name = "fmod";
  std::string text;
  if (!program_.cuda() && (inst.op == Op::erfinv || inst.op == Op::erfcinv)) {
    const std::string inverse = program_.need_erfinv();
    text = inverse + "(" + (inst.op == Op::erfcinv ? "1.0 - (double)" + expr(a, kUnary) : expr(a)) +
           ")";
    if (s == Scalar::f64) return text;
    precedence = kUnary;
    return "(" + program_.type(inst.type) + ")" + text;
  }
  text = name + (s == Scalar::f64 ? "" : "f") + "(" + x + (y.empty() ? "" : ", " + y) + ")";
  if (!half) return text;
  precedence = kUnary;
  return "(half)" + text;
}

std::string FunctionWriter::cast(const Inst& inst, int& precedence) {
  const ValueId a = function_.arg(inst, 0);
  const Scalar from = module_.types[function_[a].type].scalar;
  const Scalar to = module_.types[inst.type].scalar;
  precedence = kUnary;
  if (to == Scalar::boolean) {
    precedence = kEquality;
    return expr(a, kRelation) + " != 0";
  }
  // Half converts through float.
  const std::string through =
      (from == Scalar::f16 && to != Scalar::f32) || (to == Scalar::f16 && from != Scalar::f32)
          ? "(float)"
          : "";
  return "(" + program_.type(inst.type) + ")" + through + expr(a, kUnary);
}

std::string FunctionWriter::make(const Inst& inst, int&) {
  std::string text = program_.type(inst.type) + "{";
  bool first = true;
  for (const ValueId part : function_.args(inst)) {
    text += (first ? "" : ", ") + argument(part);
    first = false;
  }
  return text + "}";
}

std::string FunctionWriter::extract(const Inst& inst, int&) {
  const ValueId whole = function_.arg(inst, 0);
  const TypeId type = function_[whole].type;
  const Type& of = module_.types[type];
  const Inst& first = function_[function_.arg(inst, 1)];
  if (of.kind == TypeKind::mat) {
    if (inst.count == 2)
      return program_.need_row(type) + "(" + expr(whole) + ", " + expr(function_.arg(inst, 1)) +
             ")";
    return expr(whole, kPostfix) + ".m[" + expr(function_.arg(inst, 1)) + "][" +
           expr(function_.arg(inst, 2)) + "]";
  }
  if (first.op == Op::constant)
    return expr(whole, kPostfix) + program_.component(type, static_cast<int>(first.imm));
  if (of.rows > 4) return expr(whole, kPostfix) + ".c[" + expr(function_.arg(inst, 1)) + "]";
  return program_.need_at(type) + "(" + expr(whole) + ", " + expr(function_.arg(inst, 1)) + ")";
}

std::string FunctionWriter::conditional(const Inst& inst, int& precedence) {
  const ValueId condition = function_.arg(inst, 0);
  ValueId sides[2];
  for (int i = 0; i < 2; ++i) {
    sides[i] = inst.op == Op::select
                   ? function_.arg(inst, 1 + static_cast<std::uint32_t>(i))
                   : function_.arg(function_[function_.blocks[inst.blocks[i]].insts.back()], 0);
  }
  const Inst& yes = function_[sides[0]];
  const Inst& no = function_[sides[1]];
  if (inst.op == Op::cond && inst.type == kBool && no.op == Op::constant && no.imm == 0) {
    return binary_text(condition, sides[0], "&&", kAnd, precedence);
  }
  if (inst.op == Op::cond && inst.type == kBool && yes.op == Op::constant && yes.imm == 1) {
    return binary_text(condition, sides[1], "||", kOr, precedence);
  }
  precedence = kTernary;
  return expr(condition, kOr) + " ? " + expr(sides[0], kTernary + 1) + " : " +
         expr(sides[1], kTernary);
}

// As an argument a constant of a small type needs its type spelled out, since calls are overloaded.
std::string FunctionWriter::argument(ValueId id) {
  const Inst& inst = function_[id];
  const Type& of = module_.types[inst.type];
  const bool small = of.kind == TypeKind::scalar && !is_float(of.scalar) &&
                     of.scalar != Scalar::boolean && size_of(of.scalar) < 4;
  if (inst.op == Op::constant && small)
    return "(" + program_.type(inst.type) + ")" + expr(id, kUnary);
  return expr(id);
}

std::string FunctionWriter::call(const Inst& inst, int& precedence) {
  const int callee = static_cast<int>(inst.imm);
  const Function& function = module_.functions[static_cast<std::size_t>(callee)];
  if (!function.symbol.empty() && inst.count == 2) {
    return binary_text(function_.arg(inst, 0), function_.arg(inst, 1), function.symbol, kProduct,
                       precedence);
  }
  std::string text = program_.function_names[static_cast<std::size_t>(callee)] + "(";
  bool first = true;
  const auto add = [&](const std::string& value) {
    text += (first ? "" : ", ") + value;
    first = false;
  };
  for (std::uint32_t i = 0; i < inst.count; ++i) {
    const ValueId operand = function_.arg(inst, i);
    if (!module_.types.is(function_[operand].type, TypeKind::array)) {
      add(argument(operand));
      continue;
    }
    const ArrayNeeds& need = program_.needs[static_cast<std::size_t>(callee)][i];
    if (need.data) add(expr(operand));
    for (int d = 0; d < kMaxArrayDims; ++d) {
      if (need.shape >> d & 1) add(shape_name(operand, d));
    }
    for (int d = 0; d < kMaxArrayDims; ++d) {
      if (need.strides >> d & 1) add(stride_name(operand, d));
    }
  }
  if (program_.uses_tape[static_cast<std::size_t>(callee)]) add("tape");
  return text + ")";
}

std::string FunctionWriter::shape_name(ValueId array, int dim) const {
  const Inst& inst = function_[array];
  if (inst.op == Op::view)
    return shape_name(function_.arg(inst, 0), dim + static_cast<int>(inst.count) - 1);
  return names_[array] + "_shape" + std::to_string(dim);
}

std::string FunctionWriter::stride_name(ValueId array, int dim) const {
  const Inst& inst = function_[array];
  if (inst.op == Op::view)
    return stride_name(function_.arg(inst, 0), dim + static_cast<int>(inst.count) - 1);
  return names_[array] + "_stride" + std::to_string(dim);
}

// The element's number: row-major, by Horner's rule, or a sum over strides.
std::string FunctionWriter::offset(ValueId array, std::span<const ValueId> indices, bool whole,
                                   int least) {
  const int ndim = module_.types[function_[array].type].ndim;
  std::string text;
  if (program_.options.strided) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      text += (d > 0 ? " + " : "") + expr(indices[d], kProduct) + " * " +
              stride_name(array, static_cast<int>(d));
    }
    return indices.size() > 1 && least > kSum ? "(" + text + ")" : text;
  }
  int precedence = kPostfix;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (d == 0) {
      text = expr(indices[0], indices.size() > 1 || !whole ? kProduct : least);
      continue;
    }
    if (precedence == kSum) text = "(" + text + ")";
    text += " * " + shape_name(array, static_cast<int>(d)) + " + " + expr(indices[d], kSum + 1);
    precedence = kSum;
  }
  for (int d = static_cast<int>(indices.size()); d < ndim; ++d) {
    if (precedence == kSum) text = "(" + text + ")";
    text += " * " + shape_name(array, d);
    precedence = kProduct;
  }
  return precedence < least ? "(" + text + ")" : text;
}

std::string FunctionWriter::element(const Inst& inst, std::uint32_t n_indices) {
  const auto operands = function_.args(inst);
  const Inst& array = function_[operands[0]];
  if (array.op == Op::view && inlining_.inlined(operands[0])) {
    return "(" + expr(operands[0]) + ")[" +
           offset(operands[0], operands.subspan(1, n_indices), true, 0) + "]";
  }
  return array_name(operands[0]) + "[" +
         offset(operands[0], operands.subspan(1, n_indices), true, 0) + "]";
}

}  // namespace causeway::lang::emit_text
