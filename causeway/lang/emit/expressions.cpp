// Values as C++ expressions, with no more parentheses than needed.
#include "causeway/lang/emit/writer.h"

namespace causeway::lang::emit_text {

void FunctionWriter::enclose(std::size_t begin, std::string_view before, std::string_view after) {
  code_.insert(begin, before);
  code_ += after;
}

void FunctionWriter::expr(ValueId id, int least) {
  if (!inlining_.inlined(id) || function_[id].op == Op::param) return put(name_of(id));
  const std::size_t begin = code_.size();
  if (raw(id) < least) enclose(begin, "(", ")");
}

std::string FunctionWriter::text(ValueId id) {
  const std::size_t begin = code_.size();
  expr(id);
  std::string result = code_.substr(begin);
  code_.resize(begin);
  return result;
}

int FunctionWriter::raw(ValueId id) {
  const Inst& inst = function_[id];
  switch (inst.op) {
    case Op::constant: {
      const std::string text = program_.literal(inst.type, inst);
      put(text);
      return text[0] == '-' ? kUnary : kPostfix;
    }
    case Op::zero: write(program_.type(inst.type), "{}"); break;
    case Op::tid: put(thread_names_[static_cast<std::size_t>(inst.imm)]); break;
    case Op::shape: put(shape_name(function_.arg(inst, 0), static_cast<int>(inst.imm))); break;
    case Op::get: put(names_[function_.arg(inst, 0)]); break;
    case Op::load: element(inst, inst.count - 1); break;
    case Op::call: return call(inst);
    case Op::result:
      write(Value{function_.arg(inst, 0), kPostfix}, '.', static_cast<char>('a' + inst.imm));
      break;
    case Op::cast: return cast(inst);
    case Op::make: make(inst); break;
    case Op::extract: extract(inst); break;
    case Op::field: {
      const ValueId whole = function_.arg(inst, 0);
      const std::string_view name = module_.types.structure(function_[whole].type)
                                        .fields[static_cast<std::size_t>(inst.imm)]
                                        .name;
      write(Value{whole, kPostfix}, '.', name, is_reserved(name) ? "_" : "");
      break;
    }
    case Op::select:
    case Op::cond: return conditional(inst);
    case Op::view: {
      const auto operands = function_.args(inst);
      write(array_name(operands[0]), " + ");
      offset(operands[0], operands.subspan(1), false, kSum + 1);
      return kSum;
    }
    default: return arithmetic(inst);
  }
  return kPostfix;
}

int FunctionWriter::binary(ValueId a, ValueId b, std::string_view op, int level) {
  // Confusing mixtures of operators get parentheses that C++ does not require.
  const bool bits = (level >= kBitOr && level <= kBitAnd) || level == kShift;
  int left = bits ? int{kUnary} : level;
  int right = bits ? int{kUnary} : level + 1;
  if (level == kOr) {
    const bool chain = inlining_.inlined(a) && function_[a].op == Op::logical_or;
    left = chain ? kOr : kBitOr;
    right = kBitOr;
  }
  write(Value{a, left}, ' ', op, ' ', Value{b, right});
  return level;
}

// C++ promotes types smaller than int, so the result is converted back.
int FunctionWriter::narrow(const Inst& inst, std::size_t begin, int precedence) {
  const Type& of = module_.types[inst.type];
  const bool half = of.scalar == Scalar::f16 && !program_.native_half_ops();
  if (of.kind != TypeKind::scalar ||
      (!half && (is_float(of.scalar) || of.scalar == Scalar::boolean || size_of(of.scalar) >= 4)))
    return precedence;
  if (precedence < kUnary) enclose(begin, "(", ")");
  enclose(begin, "(" + program_.type(inst.type) + ")", "");
  return kUnary;
}

int FunctionWriter::arithmetic(const Inst& inst) {
  const ValueId a = function_.arg(inst, 0);
  const ValueId b = inst.count > 1 ? function_.arg(inst, 1) : a;
  const TypeTable& types = module_.types;
  const bool composite = types.is_composite(inst.type);
  const Scalar s = types[inst.type].scalar;
  const std::size_t begin = code_.size();
  if (types.is(inst.type, TypeKind::structure)) {
    program_.need_struct_sum(inst.type);
    return binary(a, b, "+", kSum);
  }
  if (composite) program_.need_operator(inst.op, function_[a].type, function_[b].type, inst.type);
  const auto infix = [&](std::string_view op, int level) {
    if (!composite && s == Scalar::f16 && !program_.native_half_ops() && level > kEquality) {
      write("(float)", Value{a, kUnary}, ' ', op, " (float)", Value{b, kUnary});
    } else {
      binary(a, b, op, level);
    }
    return composite ? level : narrow(inst, begin, level);
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
    case Op::logical_and: return binary(a, b, "&&", kAnd);
    case Op::logical_or: return binary(a, b, "||", kOr);
    case Op::eq:
    case Op::ne:
      if (types.is_composite(function_[a].type)) {
        program_.need_equal(function_[a].type);
        write(Value{a, kRelation}, " == ", Value{b, kRelation});
        if (inst.op == Op::eq) return kEquality;
        enclose(begin, "!(", ")");
        return kUnary;
      }
      return binary(a, b, inst.op == Op::eq ? "==" : "!=", kEquality);
    case Op::lt: return binary(a, b, "<", kRelation);
    case Op::le: return binary(a, b, "<=", kRelation);
    case Op::gt: return binary(a, b, ">", kRelation);
    case Op::ge: return binary(a, b, ">=", kRelation);
    case Op::neg:
      expr(a, kUnary);
      if (code_[begin] == '-') enclose(begin, "(", ")");
      enclose(begin, "-", "");
      return composite ? int{kUnary} : narrow(inst, begin, kUnary);
    case Op::bit_not: write('~', Value{a, kUnary}); return narrow(inst, begin, kUnary);
    case Op::logical_not: write('!', Value{a, kUnary}); return kUnary;
    default: break;
  }
  return math(inst);
}

int FunctionWriter::math(const Inst& inst) {
  const ValueId a = function_.arg(inst, 0);
  const Scalar s = module_.types[function_[a].type].scalar;
  const std::size_t begin = code_.size();
  const bool half = s == Scalar::f16;
  const std::string_view convert = half ? "(float)" : "";
  const Value x{a, half ? int{kUnary} : 0};
  std::string_view name = info(inst.op).name;
  if (inst.op == Op::sign) {
    expr(a);
    enclose(begin, program_.need_sign(inst.type) + "(", ")");
    return kPostfix;
  }
  if (inst.op == Op::isnan || inst.op == Op::isinf || inst.op == Op::isfinite) {
    write(program_.cuda() ? "" : "std::", name, '(', convert, x, ')');
    return kPostfix;
  }
  if (inst.op == Op::bit_count || !is_float(s)) return integer_math(inst);
  if (!program_.cuda() && (inst.op == Op::erfinv || inst.op == Op::erfcinv)) {
    if (inst.op == Op::erfcinv) {
      write("1.0 - (double)", Value{a, kUnary});
    } else {
      expr(a);
    }
    enclose(begin, program_.need_erfinv() + "(", ")");
    if (s == Scalar::f64) return kPostfix;
    enclose(begin, "(" + program_.type(inst.type) + ")", "");
    return kUnary;
  }
  if (inst.op == Op::abs) name = "fabs";
  if (inst.op == Op::min) name = "fmin";
  if (inst.op == Op::max) name = "fmax";
  if (inst.op == Op::mod) name = "fmod";
  write(half ? "(half)" : "", name, s == Scalar::f64 ? "" : "f", '(', convert, x);
  if (inst.count > 1) write(", ", convert, Value{function_.arg(inst, 1), x.least});
  put(')');
  return half ? kUnary : kPostfix;
}

// abs, min, max and the number of bits of integers.
int FunctionWriter::integer_math(const Inst& inst) {
  const ValueId a = function_.arg(inst, 0);
  const Scalar s = module_.types[function_[a].type].scalar;
  const std::size_t begin = code_.size();
  if (inst.op == Op::bit_count) {
    const bool wide = size_of(s) == 8;
    const bool extends = size_of(s) < 4 && !is_unsigned(s);
    put(program_.cuda() ? (wide ? "__popcll(" : "__popc(")
                        : (wide ? "__builtin_popcountll(" : "__builtin_popcount("));
    if (extends) put(size_of(s) == 1 ? "(unsigned char)" : "(unsigned short)");
    write(Value{a, extends ? int{kUnary} : 0}, ')');
    return kPostfix;
  }
  if (inst.op == Op::abs && is_unsigned(s)) {
    expr(a, kPostfix);
    return kPostfix;
  }
  if (inst.op == Op::abs) {
    write(Value{a, kRelation + 1}, " < 0 ? -", Value{a, kUnary}, " : ", Value{a, kTernary});
    return narrow(inst, begin, kTernary);
  }
  const ValueId b = function_.arg(inst, 1);
  if (program_.cuda() && size_of(s) >= 4) {
    write(info(inst.op).name, '(', Value{a}, ", ", Value{b}, ')');
    return kPostfix;
  }
  write(Value{a, kRelation + 1}, inst.op == Op::min ? " < " : " > ", Value{b, kRelation + 1});
  write(" ? ", Value{a, kTernary + 1}, " : ", Value{b, kTernary});
  return kTernary;
}

int FunctionWriter::cast(const Inst& inst) {
  const ValueId a = function_.arg(inst, 0);
  const Scalar from = module_.types[function_[a].type].scalar;
  const Scalar to = module_.types[inst.type].scalar;
  if (to == Scalar::boolean) {
    write(Value{a, kRelation}, " != 0");
    return kEquality;
  }
  // Half converts through float.
  const bool through =
      (from == Scalar::f16 && to != Scalar::f32) || (to == Scalar::f16 && from != Scalar::f32);
  write('(', program_.type(inst.type), through ? ")(float)" : ")", Value{a, kUnary});
  return kUnary;
}

void FunctionWriter::make(const Inst& inst) {
  write(program_.type(inst.type), '{');
  bool first = true;
  for (const ValueId part : function_.args(inst)) {
    if (!first) put(", ");
    argument(part);
    first = false;
  }
  put('}');
}

void FunctionWriter::extract(const Inst& inst) {
  const ValueId whole = function_.arg(inst, 0);
  const ValueId index = function_.arg(inst, 1);
  const TypeId type = function_[whole].type;
  const Type& of = module_.types[type];
  if (of.kind == TypeKind::mat && inst.count == 2) {
    write(program_.need_row(type), '(', Value{whole}, ", ", Value{index}, ')');
  } else if (of.kind == TypeKind::mat) {
    write(Value{whole, kPostfix}, ".m[", Value{index}, "][", Value{function_.arg(inst, 2)}, ']');
  } else if (function_[index].op == Op::constant) {
    write(Value{whole, kPostfix}, program_.component(type, static_cast<int>(function_[index].imm)));
  } else if (of.rows > 4) {
    write(Value{whole, kPostfix}, ".c[", Value{index}, ']');
  } else {
    write(program_.need_at(type), '(', Value{whole}, ", ", Value{index}, ')');
  }
}

int FunctionWriter::conditional(const Inst& inst) {
  const ValueId condition = function_.arg(inst, 0);
  ValueId sides[2];
  for (int i = 0; i < 2; ++i) {
    sides[i] = inst.op == Op::select
                   ? function_.arg(inst, 1 + static_cast<std::uint32_t>(i))
                   : function_.arg(function_[function_.blocks[inst.blocks[i]].insts.back()], 0);
  }
  const Inst& yes = function_[sides[0]];
  const Inst& no = function_[sides[1]];
  if (inst.op == Op::cond && inst.type == kBool) {
    if (no.op == Op::constant && no.imm == 0) return binary(condition, sides[0], "&&", kAnd);
    if (yes.op == Op::constant && yes.imm == 1) return binary(condition, sides[1], "||", kOr);
  }
  write(Value{condition, kOr}, " ? ", Value{sides[0], kTernary + 1}, " : ",
        Value{sides[1], kTernary});
  return kTernary;
}

// As an argument a constant of a small type needs its type spelled out, since calls are overloaded.
void FunctionWriter::argument(ValueId id) {
  const Inst& inst = function_[id];
  const Type& of = module_.types[inst.type];
  const bool small = of.kind == TypeKind::scalar && !is_float(of.scalar) &&
                     of.scalar != Scalar::boolean && size_of(of.scalar) < 4;
  const bool spelled = inst.op == Op::constant && small;
  if (spelled) write('(', program_.type(inst.type), ')');
  expr(id, spelled ? int{kUnary} : 0);
}

int FunctionWriter::call(const Inst& inst) {
  const auto callee = static_cast<std::size_t>(inst.imm);
  const Function& function = module_.functions[callee];
  if (!function.symbol.empty() && inst.count == 2)
    return binary(function_.arg(inst, 0), function_.arg(inst, 1), function.symbol, kProduct);
  write(program_.function_names[callee], '(');
  bool first = true;
  const auto separate = [&] {
    if (!first) put(", ");
    first = false;
  };
  for (std::uint32_t i = 0; i < inst.count; ++i) {
    const ValueId operand = function_.arg(inst, i);
    if (!module_.types.is(function_[operand].type, TypeKind::array)) {
      separate();
      argument(operand);
      continue;
    }
    const ArrayNeeds& need = program_.needs[callee][i];
    if (need.data) {
      separate();
      expr(operand);
    }
    for (int d = 0; d < kMaxArrayDims; ++d) {
      if ((need.shape >> d & 1) == 0) continue;
      separate();
      put(shape_name(operand, d));
    }
    for (int d = 0; d < kMaxArrayDims; ++d) {
      if ((need.strides >> d & 1) == 0) continue;
      separate();
      put(stride_name(operand, d));
    }
  }
  if (program_.uses_tape[callee]) {
    separate();
    put("tape");
  }
  put(')');
  return kPostfix;
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
void FunctionWriter::offset(ValueId array, std::span<const ValueId> indices, bool whole,
                            int least) {
  const int ndim = module_.types[function_[array].type].ndim;
  const std::size_t begin = code_.size();
  if (program_.options.strided) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (d > 0) put(" + ");
      write(Value{indices[d], kProduct}, " * ", stride_name(array, static_cast<int>(d)));
    }
    if (indices.size() > 1 && least > kSum) enclose(begin, "(", ")");
    return;
  }
  int precedence = kPostfix;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (d == 0) {
      expr(indices[0], indices.size() > 1 || !whole ? int{kProduct} : least);
      continue;
    }
    if (precedence == kSum) enclose(begin, "(", ")");
    write(" * ", shape_name(array, static_cast<int>(d)), " + ", Value{indices[d], kSum + 1});
    precedence = kSum;
  }
  for (int d = static_cast<int>(indices.size()); d < ndim; ++d) {
    if (precedence == kSum) enclose(begin, "(", ")");
    write(" * ", shape_name(array, d));
    precedence = kProduct;
  }
  if (precedence < least) enclose(begin, "(", ")");
}

void FunctionWriter::element(const Inst& inst, std::uint32_t n_indices) {
  const auto operands = function_.args(inst);
  if (function_[operands[0]].op == Op::view && inlining_.inlined(operands[0])) {
    write('(', Value{operands[0]}, ")[");
  } else {
    write(array_name(operands[0]), '[');
  }
  offset(operands[0], operands.subspan(1, n_indices), true, 0);
  put(']');
}

}  // namespace causeway::lang::emit_text
