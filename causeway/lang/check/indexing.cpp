// Indices of arrays, vectors, matrices and tuples.
#include "causeway/lang/check/checker.h"

namespace causeway::lang {

std::vector<ValueId> Checker::indices(const Expr& node) {
  std::vector<ValueId> result;
  result.reserve(node.items.count);
  const Item* items = frame_->tree->begin(node.items);
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    if (expr(items[i].value).kind == ExprKind::slice) {
      fail(expr(items[i].value).span, {"slices are supported only for reading a vector"});
    }
    const Operand index = value(items[i].value);
    if (!module_.types.is_int_scalar(index.type)) {
      fail(expr(items[i].value).span,
           {"an index must be an integer", describe(index), "an integer", "convert with int()"});
    }
    result.push_back(index.id);
  }
  return result;
}

Operand Checker::subscript(const Expr& node) {
  const Operand object = expression(node.a);
  const Item* items = frame_->tree->begin(node.items);
  if (object.kind == Operand::Kind::tuple) {
    const int i = constant_int(items[0].value, "an index of a tuple");
    const std::vector<Operand>& members = groups_[object.group];
    if (node.items.count != 1 || i < 0 || i >= static_cast<int>(members.size())) {
      fail(node.span, {"index is out of range", std::to_string(i),
                       "0 to " + std::to_string(members.size() - 1)});
    }
    return members[static_cast<std::size_t>(i)];
  }
  if (node.items.count == 1 && expr(items[0].value).kind == ExprKind::slice && object.is_value()) {
    return slice_vector(object, expr(items[0].value), node.span);
  }
  const std::vector<ValueId> subscripts = indices(node);
  b().set_span(node.span);
  if (object.kind == Operand::Kind::array) return index_array(object, subscripts, node.span);
  if (object.is_value()) return index_value(object, subscripts, node.span);
  fail(node.span, {"this cannot be indexed", describe(object)});
}

Operand Checker::slice_vector(const Operand& object, const Expr& slice, Span span) {
  const Type type = module_.types[object.type];
  if (type.kind != TypeKind::vec || slice.c != kAbsent) {
    fail(span, {"slices are supported only for vectors, without a step", describe(object)});
  }
  const int first = slice.a == kAbsent ? 0 : constant_int(slice.a, "a slice's start");
  const int last = slice.b == kAbsent ? type.rows : constant_int(slice.b, "a slice's end");
  if (first < 0 || last > type.rows || first >= last) {
    fail(span, {"slice is out of range", std::to_string(first) + ":" + std::to_string(last),
                "inside 0:" + std::to_string(type.rows)});
  }
  std::vector<ValueId> parts;
  for (int i = first; i < last; ++i) parts.push_back(b().extract(object.id, i));
  const TypeId result = module_.types.vec(last - first, type.scalar);
  return Operand::value(b().emit(Op::make, result, parts), result);
}

Operand Checker::index_value(const Operand& object, const std::vector<ValueId>& subscripts,
                             Span span) {
  const Type type = module_.types[object.type];
  const bool matrix = type.kind == TypeKind::mat;
  if (!module_.types.is_composite(object.type))
    fail(span, {"this cannot be indexed", describe(object)});
  if (subscripts.size() > (matrix ? 2U : 1U)) {
    fail(span,
         {"wrong number of indices", std::to_string(subscripts.size()), matrix ? "1 or 2" : "1"});
  }
  std::vector<ValueId> operands;
  operands.reserve(1 + subscripts.size());
  operands.push_back(object.id);
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    ValueId index = subscripts[i];
    const std::int64_t size = i == 0 ? type.rows : type.cols;
    const Inst inst = b().inst(index);
    if (inst.op == Op::constant) {
      const std::int64_t position = inst.imm < 0 ? inst.imm + size : inst.imm;
      if (position < 0 || position >= size) {
        fail(span, {"index is out of range", std::to_string(inst.imm),
                    std::to_string(-size) + " to " + std::to_string(size - 1)});
      }
      if (position != inst.imm || inst.type != kI32) index = b().index(position);
    } else {
      index = b().cast(index, kI32);
    }
    operands.push_back(index);
  }
  const TypeId result = matrix && subscripts.size() == 1 ? module_.types.vec(type.cols, type.scalar)
                                                         : scalar_type(type.scalar);
  return Operand::value(b().emit(Op::extract, result, operands), result);
}

// A constant index below zero counts from the end.
ValueId Checker::from_end(const Operand& array, ValueId subscript, int dim) {
  const Inst inst = b().inst(subscript);
  if (inst.op != Op::constant || inst.imm >= 0) return subscript;
  const ValueId size = b().emit(Op::shape, kI32, {array.id}, dim + array.n_prefix);
  return b().binary(Op::sub, size, b().index(-inst.imm));
}

// The operands of an access: the array and all indices.
std::vector<ValueId> Checker::element(const Operand& array,
                                      const std::vector<ValueId>& subscripts) {
  std::vector<ValueId> operands;
  operands.reserve(2U + array.n_prefix + subscripts.size());  // a value may follow
  operands.push_back(array.id);
  operands.insert(operands.end(), array.prefix.begin(), array.prefix.begin() + array.n_prefix);
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    operands.push_back(from_end(array, subscripts[i], static_cast<int>(i)));
  }
  return operands;
}

Operand Checker::index_array(const Operand& array, const std::vector<ValueId>& subscripts,
                             Span span) {
  const Type type = module_.types[array.type];
  if (subscripts.size() > type.ndim) {
    fail(span,
         {"wrong number of indices", std::to_string(subscripts.size()), std::to_string(type.ndim)});
  }
  Operand result = array;
  const std::vector<ValueId> operands = element(array, subscripts);
  if (subscripts.size() == type.ndim) {
    return Operand::value(b().emit(Op::load, type.element, operands), type.element);
  }
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    result.prefix[result.n_prefix++] = operands[1U + array.n_prefix + i];
  }
  result.type = module_.types.array(type.element, type.ndim - static_cast<int>(subscripts.size()));
  return result;
}

}  // namespace causeway::lang
