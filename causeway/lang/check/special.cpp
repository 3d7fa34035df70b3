// Builtins with special rules, and forms that only the prelude uses.
#include "causeway/lang/check/checker.h"

#include <algorithm>

namespace causeway::lang {

namespace {

constexpr int kMaxUnroll = 256;

}  // namespace

// unroll(i, n, e): e for i = 0 … n-1 as several values. total(i, n, e): their sum from the left.
// is_float(x), rows(x), cols(x), length(x): facts of types, as constants.
Operand Checker::prelude_form(std::string_view form, const Expr& node, bool& found) {
  const Item* items = frame_->tree->begin(node.items);
  found = form == "unroll" || form == "total";
  if (!found) return {};
  const std::string_view variable = expr(items[0].value).text;
  const int n = std::min(constant_int(items[1].value, "a length"), kMaxUnroll);
  const std::size_t n_bindings = frame_->bindings.size();
  std::vector<Operand> parts;
  for (int i = 0; i < n; ++i) {
    Binding binding;
    binding.name = variable;
    binding.operand = Operand::value(b().index(i), kI32, true);
    frame_->bindings.push_back(binding);
    const Operand part = expression(items[2].value);
    frame_->bindings.resize(n_bindings);
    if (part.kind == Operand::Kind::tuple) {
      const std::vector<Operand> members = groups_[part.group];
      parts.insert(parts.end(), members.begin(), members.end());
    } else {
      parts.push_back(part);
    }
  }
  if (form == "unroll") return group_of(Operand::Kind::tuple, kNone, std::move(parts));
  Operand sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) sum = binary("+", sum, parts[i], node.span);
  return sum;
}

Operand Checker::call_special(const Builtin& builtin, const Expr& node) {
  const std::string_view form = builtin.name;
  const Item* items = frame_->tree->begin(node.items);
  if (form == "tid") {
    if (frame_->function.kind != FunctionKind::kernel) {
      fail(node.span,
           {"tid() can be used only in a kernel", "", "", "pass the index as an argument"});
    }
    check_arity(node, 0, 0, form);
    // The number of values is determined by the left-hand side, which the caller unpacks.
    int dims = 1;
    for (const Stmt& stmt : frame_->tree->stmts) {
      if (stmt.value != kAbsent && &expr(stmt.value) == &node && stmt.kind == StmtKind::assign &&
          expr(stmt.target).kind == ExprKind::tuple) {
        dims = static_cast<int>(expr(stmt.target).items.count);
      }
    }
    if (dims > kMaxArrayDims) fail(node.span, {"tid() gives 1 to 4 values", std::to_string(dims)});
    if (frame_->tid_dims != 0 && frame_->tid_dims != dims) {
      fail(node.span, {"tid() is used with different numbers of dimensions", std::to_string(dims),
                       std::to_string(frame_->tid_dims)});
    }
    frame_->tid_dims = dims;
    std::vector<Operand> members;
    for (int i = 0; i < dims; ++i)
      members.push_back(Operand::value(b().emit(Op::tid, kI32, {}, i), kI32));
    return dims == 1 ? members[0] : group_of(Operand::Kind::tuple, kNone, std::move(members));
  }
  if (form == "len") {
    check_arity(node, 1, 1, form);
    const Operand object = expression(items[0].value);
    if (object.kind == Operand::Kind::array) {
      return Operand::value(b().emit(Op::shape, kI32, {object.id}, object.n_prefix), kI32);
    }
    if (object.is_value() && module_.types.is_composite(object.type)) {
      return Operand::value(b().index(module_.types[object.type].rows), kI32, true);
    }
    fail(node.span, {"len() takes an array, vector or matrix", describe(object)});
  }
  if (form == "where") {
    const std::vector<ExprId> ids =
        ordered(node, {"cond", "value_if_true", "value_if_false"}, 3, form);
    const ValueId condition = truth(value(ids[0]), expr(ids[0]).span);
    Operand yes = value(ids[1]);
    Operand no = value(ids[2]);
    if (frame_->prelude) adapt_literals(yes, no);
    check_same(no.type, yes.type, expr(ids[2]).span,
               "both values of where() must have the same type");
    b().set_span(node.span);
    return Operand::value(b().emit(Op::select, yes.type, {condition, yes.id, no.id}), yes.type);
  }
  if (form == "static" || form == "constant") {
    check_arity(node, 1, 1, form);
    Operand result = expression(items[0].value);
    result.literal = true;
    return result;
  }
  if (form == "vector" || form == "matrix" || form == "quaternion") {
    TypeId type = kNone;
    std::vector<Operand> parts;
    TypeId dtype = kNone;
    int rows = 0;
    int cols = 1;
    for (std::uint32_t i = 0; i < node.items.count; ++i) {
      const Expr& item = expr(items[i].value);
      if (items[i].keyword == "dtype") {
        dtype = resolve_type(items[i].value);
      } else if (items[i].keyword == "length") {
        rows = constant_int(items[i].value, "length");
      } else if (items[i].keyword == "shape" && item.kind == ExprKind::tuple &&
                 item.items.count == 2) {
        rows = constant_int(frame_->tree->begin(item.items)[0].value, "shape");
        cols = constant_int(frame_->tree->begin(item.items)[1].value, "shape");
      } else {
        parts.push_back(expression(items[i].value));
      }
    }
    if (dtype == kNone && !parts.empty() && parts[0].is_value())
      dtype = scalar_type(module_.types[parts[0].type].scalar);
    if (dtype == kNone || !module_.types.is_scalar(dtype))
      fail(node.span, {std::string(form) + "() needs a dtype"});
    if (rows == 0) rows = static_cast<int>(parts.size());
    const bool fits = rows >= 1 && rows <= kMaxVectorLength && cols >= 1 &&
                      cols <= kMaxVectorLength && rows * cols <= 256;
    if (!fits && form != "quaternion")
      fail(node.span, {"size of a vector or matrix is out of range"});
    const Scalar scalar = module_.types[dtype].scalar;
    type = form == "vector"   ? module_.types.vec(rows, scalar)
           : form == "matrix" ? module_.types.mat(rows, cols, scalar)
                              : module_.types.quat(scalar);
    return make_vector(type, std::move(parts), node.span);
  }
  if (form == "identity") {
    const std::vector<ExprId> ids = ordered(node, {"n", "dtype"}, 2, form);
    const int n = constant_int(ids[0], "n");
    const TypeId dtype = resolve_type(ids[1]);
    if (n < 1 || n > 16 || !module_.types.is_scalar(dtype))
      fail(node.span, {"identity() takes a size from 1 to 16 and a scalar dtype"});
    std::vector<ValueId> parts;
    for (int i = 0; i < n * n; ++i)
      parts.push_back(b().constant_int(dtype, i / n == i % n ? 1 : 0));
    const TypeId type = module_.types.mat(n, n, module_.types[dtype].scalar);
    return Operand::value(b().emit(Op::make, type, parts), type);
  }
  if (form == "quat_identity") {
    TypeId dtype = scalar_type(promoted(Scalar::f32));
    if (node.items.count > 0) dtype = resolve_type(items[0].value);
    std::vector<ValueId> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(b().constant_int(dtype, i == 3 ? 1 : 0));
    const TypeId type = module_.types.quat(module_.types[dtype].scalar);
    return Operand::value(b().emit(Op::make, type, parts), type);
  }
  if (form == "matrix_from_cols" || form == "matrix_from_rows") {
    const std::vector<Operand> parts = arguments(node);
    for (const Operand& part : parts) {
      if (!part.is_value() || !module_.types.is(part.type, TypeKind::vec) ||
          part.type != parts[0].type) {
        fail(node.span, {std::string(form) + "() takes vectors of one type", describe(part)});
      }
    }
    if (parts.empty()) check_arity(node, 1, kMaxVectorLength, form);
    const Type vector = module_.types[parts[0].type];
    const int count = static_cast<int>(parts.size());
    const bool columns = form == "matrix_from_cols";
    const int rows = columns ? vector.rows : count;
    const int cols = columns ? count : vector.rows;
    std::vector<ValueId> values;
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        values.push_back(
            b().extract(parts[static_cast<std::size_t>(columns ? c : r)].id, columns ? r : c));
      }
    }
    const TypeId type = module_.types.mat(rows, cols, vector.scalar);
    return Operand::value(b().emit(Op::make, type, values), type);
  }
  if (form == "cast") {
    const std::vector<ExprId> ids = ordered(node, {"a", "dtype"}, 2, form);
    fail(expr(ids[0]).span,
         {"cast() of bits is not supported", "", "", "convert values with wp.float32(…)"});
  }
  if (form == "print" || form == "printf") {
    std::vector<ValueId> values;
    std::string_view format;
    for (std::uint32_t i = 0; i < node.items.count; ++i) {
      if (expr(items[i].value).kind == ExprKind::string) {
        format = expr(items[i].value).text;
        continue;
      }
      const Operand operand = value(items[i].value);
      if (!module_.types.is_scalar(operand.type))
        fail(node.span, {"only scalars can be printed", describe(operand)});
      values.push_back(operand.id);
    }
    const ValueId id = b().emit(Op::print, kNone, values);
    frame_->function[id].name = format;
    frame_->function.effects = true;
    return {};
  }
  if (form == "select") {
    fail(node.span, {"select() is no longer part of the language", "", "",
                     "use wp.where(cond, value_if_true, value_if_false)"});
  }
  fail(node.span, {"\"" + std::string(form) + "\" cannot be used here"});
}

}  // namespace causeway::lang
