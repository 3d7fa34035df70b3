// Type annotations: wp.float32, wp.vec3, wp.array(dtype=float, ndim=2), "…", structs; and
// the patterns of the prelude.
#include "causeway/lang/check/checker.h"

#include "causeway/core/shown.h"
#include "causeway/lang/parser.h"

namespace causeway::lang {

namespace {

bool scalar_by_name(std::string_view name, Scalar& scalar) {
  for (int i = 0; i < kScalarCount; ++i) {
    if (name_of(static_cast<Scalar>(i)) == name) {
      scalar = static_cast<Scalar>(i);
      return true;
    }
  }
  if (name == "float") scalar = Scalar::f32;
  if (name == "int") scalar = Scalar::i32;
  return name == "float" || name == "int";
}

bool scalar_by_suffix(std::string_view suffix, Scalar& scalar) {
  static constexpr std::pair<std::string_view, Scalar> kSuffixes[] = {
      {"", Scalar::f32},  {"f", Scalar::f32},  {"h", Scalar::f16},  {"d", Scalar::f64},
      {"b", Scalar::i8},  {"s", Scalar::i16},  {"i", Scalar::i32},  {"l", Scalar::i64},
      {"ub", Scalar::u8}, {"us", Scalar::u16}, {"ui", Scalar::u32}, {"ul", Scalar::u64}};
  for (const auto& [text, value] : kSuffixes) {
    if (text == suffix) {
      scalar = value;
      return true;
    }
  }
  return false;
}

bool small_digit(char c) { return c >= '2' && c <= '4'; }

}  // namespace

Scalar Checker::promoted(Scalar scalar) const {
  return options_.promote_floats && is_float(scalar) ? Scalar::f64 : scalar;
}

// vec3, vec2d, mat33, mat44d, quat, quatd and the scalars.
bool Checker::named_type(std::string_view name, TypeId& type) {
  Scalar scalar = Scalar::f32;
  if (scalar_by_name(name, scalar)) {
    type = scalar_type(promoted(scalar));
    return true;
  }
  if (name.starts_with("vec") && name.size() > 3 && small_digit(name[3]) &&
      scalar_by_suffix(name.substr(4), scalar)) {
    type = module_.types.vec(name[3] - '0', promoted(scalar));
    return true;
  }
  if (name.starts_with("mat") && name.size() > 4 && small_digit(name[3]) && small_digit(name[4]) &&
      scalar_by_suffix(name.substr(5), scalar) && (is_float(scalar))) {
    type = module_.types.mat(name[3] - '0', name[4] - '0', promoted(scalar));
    return true;
  }
  if (name.starts_with("quat") && scalar_by_suffix(name.substr(4), scalar) && is_float(scalar)) {
    type = module_.types.quat(promoted(scalar));
    return true;
  }
  return false;
}

// The last name of wp.x, wp.types.x or x; is_module is whether a module precedes it.
std::string_view Checker::callee_name(const Expr& callee, bool& is_module) const {
  is_module = false;
  if (callee.kind == ExprKind::name) return callee.text;
  if (callee.kind != ExprKind::attribute) return {};
  const Expr* object = &expr(callee.a);
  if (object->kind == ExprKind::attribute && object->text == "types") object = &expr(object->a);
  if (object->kind != ExprKind::name) return {};
  for (const std::string_view module : tree_.modules) {
    if (object->text == module) is_module = true;
  }
  if (object->text == "math" || object->text == "typing" || object->text == "np" ||
      object->text == "numpy") {
    is_module = true;
  }
  return is_module ? callee.text : std::string_view{};
}

int Checker::constant_int(ExprId id, std::string_view what) {
  const Expr& node = expr(id);
  if (node.kind == ExprKind::integer)
    return static_cast<int>(std::min<std::int64_t>(node.integer, 1 << 20));
  if (node.kind == ExprKind::name) {
    if (const PatternBinding* bound = pattern(node.text);
        bound != nullptr && bound->type == kNone) {
      return bound->length;
    }
    const auto found = options_.constants.find(node.text);
    if (found != options_.constants.end() && found->second.kind == Constant::Kind::integer) {
      return static_cast<int>(found->second.integer);
    }
    for (const ConstantNode& constant : tree_.constants) {
      if (constant.name != node.text || frame_->prelude) continue;
      const Expr& value = expr(constant.value);
      if (value.kind == ExprKind::integer)
        return static_cast<int>(std::min<std::int64_t>(value.integer, 1 << 20));
      if (value.kind == ExprKind::call && value.items.count == 1) {
        return constant_int(frame_->tree->begin(value.items)->value, what);
      }
    }
  }
  fail(node.span, {std::string(what) + " must be a constant integer"});
}

TypeId Checker::array_annotation(const Expr& node, int ndim) {
  TypeId element = kNone;
  std::size_t position = 0;
  const Tree& tree = *frame_->tree;
  for (const Item* item = tree.begin(node.items); item != tree.end(node.items); ++item) {
    const std::string_view keyword =
        item->keyword.empty() ? (position == 0 ? "dtype" : "ndim") : item->keyword;
    ++position;
    if (keyword == "dtype") {
      element = resolve_type(item->value);
    } else if (keyword == "ndim") {
      ndim = constant_int(item->value, "ndim");
    } else {
      fail(expr(item->value).span, {"unknown argument of array()", shown(keyword), "dtype, ndim"});
    }
  }
  if (element == kNone) fail(node.span, {"array() needs a dtype"});
  if (ndim < 1 || ndim > kMaxArrayDims) {
    fail(node.span, {"arrays have 1 to 4 dimensions", std::to_string(ndim)});
  }
  if (module_.types.has_array(element)) {
    fail(node.span, {"an array's elements cannot hold arrays", name(element)});
  }
  return module_.types.array(element, ndim);
}

// wp.array(…), wp.array2d(…), wp.types.vector(length=, dtype=), wp.vec(5, float) …
bool Checker::call_type(const Expr& node, TypeId& type) {
  bool is_module = false;
  const std::string_view callee = callee_name(expr(node.a), is_module);
  if (callee.starts_with("array")) {
    const std::string_view rest = callee.substr(5);
    const bool sized = rest.size() == 2 && rest[0] >= '1' && rest[0] <= '4' && rest[1] == 'd';
    if (!rest.empty() && !sized) return false;
    type = array_annotation(node, sized ? rest[0] - '0' : 1);
    return true;
  }
  const bool vector = callee == "vector" || callee == "vec";
  if (!vector && callee != "matrix" && callee != "mat" && callee != "quaternion") return false;
  const Tree& tree = *frame_->tree;
  TypeId dtype = kNone;
  int rows = 0;
  int cols = 0;
  std::size_t position = 0;
  for (const Item* item = tree.begin(node.items); item != tree.end(node.items); ++item) {
    const std::string_view first = vector ? "length" : callee == "quaternion" ? "dtype" : "shape";
    const std::string_view keyword =
        item->keyword.empty() ? (position == 0 ? first : "dtype") : item->keyword;
    ++position;
    const Expr& value = expr(item->value);
    if (keyword == "dtype") {
      if (!try_type(item->value, dtype)) return false;
    } else if (keyword == "length" &&
               (value.kind == ExprKind::integer || value.kind == ExprKind::name)) {
      rows = constant_int(item->value, "length");
    } else if (keyword == "shape" && value.kind == ExprKind::tuple && value.items.count == 2) {
      rows = constant_int(tree.begin(value.items)[0].value, "shape");
      cols = constant_int(tree.begin(value.items)[1].value, "shape");
    } else {
      return false;
    }
  }
  if (dtype == kNone || !module_.types.is_scalar(dtype)) return false;
  const Scalar scalar = module_.types[dtype].scalar;
  if (callee == "quaternion") {
    type = module_.types.quat(scalar);
    return true;
  }
  const bool fits = rows >= 1 && rows <= kMaxVectorLength &&
                    (vector || (cols >= 1 && cols <= kMaxVectorLength && rows * cols <= 256));
  if (!fits) {
    fail(node.span, {"size of a vector or matrix is out of range", "",
                     "1 to " + std::to_string(kMaxVectorLength) + " a dimension, 256 in all"});
  }
  type = vector ? module_.types.vec(rows, scalar) : module_.types.mat(rows, cols, scalar);
  return true;
}

const PatternBinding* Checker::pattern(std::string_view name) const {
  if (frame_->patterns == nullptr) return nullptr;
  for (const PatternBinding& binding : *frame_->patterns) {
    if (binding.name == name) return &binding;
  }
  return nullptr;
}

bool Checker::try_type(ExprId id, TypeId& type) {
  const Expr& node = expr(id);
  bool is_module = false;
  switch (node.kind) {
    case ExprKind::name: {
      if (const PatternBinding* bound = pattern(node.text)) {
        type = bound->type;
        return bound->type != kNone;
      }
      for (std::size_t i = aliases_.size(); i-- > 0;) {
        if (aliases_[i].first == node.text && !frame_->prelude) {
          type = aliases_[i].second;
          return true;
        }
      }
      return named_type(node.text, type);
    }
    case ExprKind::attribute: {
      const std::string_view text = callee_name(node, is_module);
      return is_module && named_type(text, type);
    }
    case ExprKind::call: return call_type(node, type);
    case ExprKind::subscript: {
      const std::string_view text = callee_name(expr(node.a), is_module);
      const Item* items = frame_->tree->begin(node.items);
      if (text == "array") {
        TypeId element = kNone;
        if (!try_type(items[0].value, element)) return false;
        type = module_.types.array(element,
                                   node.items.count > 1 ? constant_int(items[1].value, "ndim") : 1);
        return true;
      }
      if (!frame_->prelude) return false;
      TypeId scalar = kNone;
      if (!try_type(items[node.items.count - 1].value, scalar)) return false;
      const Scalar s = module_.types[scalar].scalar;
      if (text == "quat") type = module_.types.quat(s);
      if (text == "vec") type = module_.types.vec(constant_int(items[0].value, "length"), s);
      if (text == "mat") {
        type = module_.types.mat(constant_int(items[0].value, "rows"),
                                 constant_int(items[1].value, "columns"), s);
      }
      return text == "quat" || text == "vec" || text == "mat";
    }
    case ExprKind::string: {
      const auto quoted =
          std::make_shared<Source>(std::string(frame_->source->name()), std::string(node.text));
      Tree tree;
      const ExprId inner = parse_expression(*quoted, tree);
      Frame frame;
      frame.tree = &tree;
      frame.source = quoted.get();
      Frame* const outer = frame_;
      frame_ = &frame;
      const bool found = try_type(inner, type);
      frame_ = outer;
      return found;
    }
    default: return false;
  }
}

TypeId Checker::resolve_type(ExprId id) {
  TypeId type = kNone;
  if (try_type(id, type)) return type;
  const Expr& node = expr(id);
  std::vector<std::string_view> names = {
      "float", "int",   "bool",  "float16", "float32", "float64", "int8",    "int16",
      "int32", "int64", "uint8", "uint16",  "uint32",  "uint64",  "vec2",    "vec3",
      "vec4",  "mat22", "mat33", "mat44",   "quat",    "array",   "array2d", "array3d"};
  for (const auto& alias : aliases_) names.push_back(alias.first);
  const std::string_view text = node.kind == ExprKind::name || node.kind == ExprKind::attribute
                                    ? node.text
                                    : std::string_view{};
  const std::string_view near = text.empty() ? text : nearest_name(text, names);
  fail(node.span, {"not a type", shown(frame_->source->text(node.span)),
                   "a scalar, vector, matrix, quaternion, struct or array type",
                   near.empty() ? "" : "did you mean \"" + std::string(near) + "\"?"});
}

bool Checker::match_length(ExprId id, int length, PatternBindings& bindings) {
  const Expr& node = expr(id);
  if (node.kind == ExprKind::integer) return node.integer == length;
  for (const PatternBinding& binding : bindings) {
    if (binding.name == node.text) return binding.type == kNone && binding.length == length;
  }
  bindings.push_back({node.text, kNone, length});
  return true;
}

// Whether `type` fits the pattern with the names bound so far; binds new ones.
bool Checker::match(ExprId id, TypeId type, PatternBindings& bindings) {
  const Expr& node = expr(id);
  const Type& of = module_.types[type];
  if (node.kind == ExprKind::subscript) {
    const std::string_view kind = expr(node.a).text;
    const Item* items = frame_->tree->begin(node.items);
    const bool fits = (kind == "vec" && of.kind == TypeKind::vec) ||
                      (kind == "mat" && of.kind == TypeKind::mat) ||
                      (kind == "quat" && of.kind == TypeKind::quat) ||
                      (kind == "array" && of.kind == TypeKind::array);
    if (!fits) return false;
    if (kind == "array") {
      return match_length(items[0].value, of.ndim, bindings) &&
             match(items[1].value, of.element, bindings);
    }
    if (!match(items[node.items.count - 1].value, scalar_type(of.scalar), bindings)) return false;
    if (kind == "vec") return match_length(items[0].value, of.rows, bindings);
    if (kind == "mat") {
      return match_length(items[0].value, of.rows, bindings) &&
             match_length(items[1].value, of.cols, bindings);
    }
    return true;
  }
  if (node.kind != ExprKind::name) return false;
  if (node.text.size() == 1) {
    const bool allowed =
        of.kind == TypeKind::scalar && (node.text == "T"   ? of.scalar != Scalar::boolean
                                        : node.text == "F" ? is_float(of.scalar)
                                        : node.text == "I" ? is_int(of.scalar)
                                                           : true);
    if (!allowed) return false;
    for (const PatternBinding& binding : bindings) {
      if (binding.name == node.text) return binding.type == type;
    }
    bindings.push_back({node.text, type, 0});
    return true;
  }
  TypeId concrete = kNone;
  return named_type(node.text, concrete) && concrete == type;
}

}  // namespace causeway::lang
