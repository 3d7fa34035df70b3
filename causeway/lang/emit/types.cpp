// C++ types for the language's, and the operators and helpers that are used with them.
#include "causeway/lang/emit/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::lang::emit_text {

namespace {

constexpr std::string_view kComponents = "xyzw";

}  // namespace

std::string Program::scalar(Scalar s) {
  static constexpr std::string_view names[] = {"bool",
                                               "signed char",
                                               "short",
                                               "int",
                                               "long long",
                                               "unsigned char",
                                               "unsigned short",
                                               "unsigned int",
                                               "unsigned long long",
                                               "half",
                                               "float",
                                               "double"};
  if (s == Scalar::f16) uses_half = true;
  return std::string(names[static_cast<int>(s)]);
}

const std::string& Program::type(TypeId id) {
  std::string& name = type_names_[id];
  if (!name.empty()) return name;
  const Type& of = module.types[id];
  switch (of.kind) {
    case TypeKind::none: name = "void"; break;
    case TypeKind::scalar: name = scalar(of.scalar); break;
    case TypeKind::array: name = type(of.element) + "*"; break;
    default: name = define(id); break;
  }
  return name;
}

// The name of a struct, which is added to the definitions.
std::string Program::define(TypeId id) {
  const Type& of = module.types[id];
  std::string wanted = of.kind == TypeKind::tuple ? "values" : module.types.name(id);
  if (of.scalar == Scalar::f32 && of.kind != TypeKind::structure && of.kind != TypeKind::tuple)
    wanted.pop_back();
  std::string body;
  if (of.kind == TypeKind::structure || of.kind == TypeKind::tuple) {
    int i = 0;
    const auto member = [&](TypeId member_type, std::string_view name) {
      body += "  " + type(member_type) + " " +
              (is_reserved(name) ? std::string(name) + "_" : std::string(name)) + ";\n";
    };
    if (of.kind == TypeKind::structure) {
      for (const Field& field : module.types.structure(id).fields) member(field.type, field.name);
    } else {
      for (const TypeId part : module.types.members(id)) {
        member(part, std::string(1, static_cast<char>('a' + i)));
        ++i;
      }
    }
    if (body.empty()) body = "  char unused;\n";
    body = " {\n" + body + "};\n\n";
  } else if (of.kind == TypeKind::mat) {
    body = fmt::format(" {{\n  {} m[{}][{}];\n}};\n\n", scalar(of.scalar), of.rows, of.cols);
  } else if (of.rows > 4) {
    body = fmt::format(" {{\n  {} c[{}];\n}};\n\n", scalar(of.scalar), of.rows);
  } else {
    body = " {\n  " + scalar(of.scalar);
    for (int i = 0; i < of.rows; ++i)
      body += (i > 0 ? ", " : " ") + std::string(1, kComponents[static_cast<std::size_t>(i)]);
    body += ";\n};\n\n";
  }
  std::string name = globals.unique(wanted);
  definitions_ += "struct " + name + body;
  return name;
}

std::string Program::component(TypeId id, int i) {
  const Type& of = module.types[id];
  if (of.kind == TypeKind::mat) return fmt::format(".m[{}][{}]", i / of.cols, i % of.cols);
  if (of.rows > 4) return fmt::format(".c[{}]", i);
  return "." + std::string(1, kComponents[static_cast<std::size_t>(i)]);
}

std::string Program::literal(TypeId id, const Inst& constant) const {
  const Scalar s = module.types[id].scalar;
  if (s == Scalar::boolean) return constant.imm != 0 ? "true" : "false";
  if (!is_float(s)) {
    if (s == Scalar::u64) return fmt::format("{}ull", static_cast<std::uint64_t>(constant.imm));
    if (s == Scalar::u32) return fmt::format("{}u", constant.imm);
    if (constant.imm == INT64_MIN) return "(-9223372036854775807ll - 1)";
    if (s == Scalar::i64) return fmt::format("{}ll", constant.imm);
    if (constant.imm == INT32_MIN) return "(-2147483647 - 1)";
    return std::to_string(constant.imm);
  }
  const double value = constant.real();
  const bool single = s != Scalar::f64;
  if (std::isinf(value)) {
    const std::string infinity = !cuda()  ? (single ? "HUGE_VALF" : "HUGE_VAL")
                                 : single ? "__int_as_float(0x7f800000)"
                                          : "__longlong_as_double(0x7ff0000000000000ll)";
    return value < 0 ? "-" + infinity : infinity;
  }
  if (std::isnan(value)) {
    if (!cuda()) return single ? "std::nanf(\"\")" : "std::nan(\"\")";
    return single ? "__int_as_float(0x7fffffff)" : "__longlong_as_double(0x7fffffffffffffffll)";
  }
  std::string text =
      single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return s == Scalar::f16 ? "(half)" + text : text;
}

namespace {

std::string_view symbol(Op op) {
  switch (op) {
    case Op::add: return "+";
    case Op::sub: return "-";
    case Op::neg: return "-";
    case Op::mul: return "*";
    case Op::div: return "/";
    case Op::mod: return "%";
    case Op::bit_and: return "&";
    case Op::bit_or: return "|";
    case Op::bit_xor: return "^";
    case Op::shl: return "<<";
    default: return ">>";
  }
}

}  // namespace

// Component by component; a scalar is used for each.
void Program::need_operator(Op op, TypeId a, TypeId b, TypeId result) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(op) << 56 | static_cast<std::uint64_t>(a) << 28 | b;
  if (std::find(operators_.begin(), operators_.end(), key) != operators_.end()) return;
  const std::string name = type(result);
  const Scalar s = module.types[result].scalar;
  const int n = module.types.count(result);
  const bool unary = op == Op::neg;
  std::string values;
  for (int i = 0; i < n; ++i) {
    const std::string x = "a" + (module.types.is_scalar(a) ? "" : component(a, i));
    const std::string y = "b" + (unary || module.types.is_scalar(b) ? "" : component(b, i));
    std::string value = unary ? "-" + x : x + " " + std::string(symbol(op)) + " " + y;
    if (op == Op::mod && is_float(s))
      value = (s == Scalar::f64 ? "fmod(" : "fmodf(") + x + ", " + y + ")";
    if (s == Scalar::f16 && !cuda())
      value = unary ? "(half)-(float)" + x
                    : "(half)((float)" + x + " " + std::string(symbol(op)) + " (float)" + y + ")";
    if (!is_float(s) && size_of(s) < 4) value = "(" + scalar(s) + ")(" + value + ")";
    values += (i > 0 ? ", " : "") + value;
  }
  std::string text =
      qualifier() + name + " operator" + std::string(symbol(op)) + "(" + type(a) + " a";
  if (!unary) text += ", " + type(b) + " b";
  definitions_ += text + ") {\n  return {" + values + "};\n}\n\n";
  operators_.push_back(key);
}

// Sums of structs are gradients: members that are not floating-point are not changed.
void Program::need_struct_sum(TypeId id) {
  if (!first_use("sum " + std::to_string(id))) return;
  std::string values;
  for (const Field& field : module.types.structure(id).fields) {
    const std::string name = std::string(field.name) + (is_reserved(field.name) ? "_" : "");
    const bool floats = module.types.has_float(field.type);
    if (floats && module.types.is_composite(field.type))
      need_operator(Op::add, field.type, field.type, field.type);
    if (floats && module.types.is(field.type, TypeKind::structure)) need_struct_sum(field.type);
    const bool half = !cuda() && field.type == scalar_type(Scalar::f16);
    const std::string sum = half ? "(half)((float)a." + name + " + (float)b." + name + ")"
                                 : "a." + name + " + b." + name;
    values += (values.empty() ? "" : ", ") + (floats ? sum : "a." + name);
  }
  const std::string& t = type(id);
  definitions_ +=
      qualifier() + t + " operator+(" + t + " a, " + t + " b) {\n  return {" + values + "};\n}\n\n";
}

void Program::need_equal(TypeId id) {
  if (!first_use("equal " + std::to_string(id))) return;
  std::string value;
  for (int i = 0; i < module.types.count(id); ++i) {
    value += (i > 0 ? " && " : "") + ("a" + component(id, i)) + " == b" + component(id, i);
  }
  const std::string& t = type(id);
  definitions_ +=
      qualifier() + "bool operator==(" + t + " a, " + t + " b) {\n  return " + value + ";\n}\n\n";
}

std::string Program::need_sign(TypeId id) {
  const std::string& t = type(id);
  if (first_use("sign " + t))
    definitions_ += qualifier() + t + " sign(" + t + " x) {\n  return (" + t + ")(x < (" + t +
                    ")0 ? -1 : 1);\n}\n\n";
  return "sign";
}

// at(v, i): a component by an index that is not constant.
std::string Program::need_at(TypeId whole) {
  if (!first_use("at " + std::to_string(whole))) return "at";
  const Type& of = module.types[whole];
  std::string value;
  for (int i = 0; i < of.rows; ++i) {
    value += i + 1 < of.rows ? fmt::format("i == {} ? v{} : ", i, component(whole, i))
                             : "v" + component(whole, i);
  }
  definitions_ += qualifier() + type(scalar_type(of.scalar)) + " at(" + type(whole) +
                  " v, int i) {\n  return " + value + ";\n}\n\n";
  return "at";
}

// with(v, i, x): v with component i replaced.
std::string Program::need_with(TypeId whole) {
  if (!first_use("with " + std::to_string(whole))) return "with";
  const Type& of = module.types[whole];
  std::string body;
  if (of.rows > 4) {
    body = "  v.c[i] = x;\n";
  } else {
    for (int i = 0; i < of.rows; ++i)
      body += fmt::format("  if (i == {}) v{} = x;\n", i, component(whole, i));
  }
  const std::string& t = type(whole);
  definitions_ += qualifier() + t + " with(" + t + " v, int i, " + type(scalar_type(of.scalar)) +
                  " x) {\n" + body + "  return v;\n}\n\n";
  return "with";
}

TypeId Program::row_type(TypeId matrix) const {
  const Type& of = module.types[matrix];
  TypeId row = kNone;
  for (TypeId id = 1; id < module.types.size(); ++id) {
    const Type& candidate = module.types[id];
    if (candidate.kind == TypeKind::vec && candidate.scalar == of.scalar &&
        candidate.rows == of.cols)
      row = id;
  }
  return row;
}

std::string Program::need_row(TypeId matrix) {
  if (!first_use("row " + std::to_string(matrix))) return "row";
  std::string values;
  for (int j = 0; j < module.types[matrix].cols; ++j)
    values += fmt::format("{}a.m[i][{}]", j > 0 ? ", " : "", j);
  const std::string& row = type(row_type(matrix));
  definitions_ += qualifier() + row + " row(" + type(matrix) + " a, int i) {\n  return {" + values +
                  "};\n}\n\n";
  return "row";
}

std::string Program::need_with_row(TypeId matrix) {
  if (!first_use("with_row " + std::to_string(matrix))) return "with_row";
  const TypeId row = row_type(matrix);
  std::string body;
  for (int j = 0; j < module.types[matrix].cols; ++j)
    body += fmt::format("  a.m[i][{}] = v{};\n", j, component(row, j));
  const std::string& t = type(matrix);
  definitions_ += qualifier() + t + " with_row(" + t + " a, int i, " + type(row) + " v) {\n" +
                  body + "  return a;\n}\n\n";
  return "with_row";
}

// The CPU has no inverse error function: Giles' approximation and two Newton steps.
std::string Program::need_erfinv() {
  if (!first_use("erfinv")) return "inverse_erf";
  definitions_ += R"(static inline double inverse_erf(double x) {
  if (!(fabs(x) < 1.0)) return fabs(x) == 1.0 ? x * HUGE_VAL : std::nan("");
  const double w = -log1p(-x * x);
  double p;
  if (w < 5.0) {
    const double v = w - 2.5;
    p = 2.81022636e-08;
    const double series[] = {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                             -0.00125372503, -0.00417768164, 0.246640727, 1.50140941};
    for (const double c : series) p = p * v + c;
  } else {
    const double v = sqrt(w) - 3.0;
    p = -0.000200214257;
    const double series[] = {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                             -0.0076224613, 0.00943887047, 1.00167406, 2.83297682};
    for (const double c : series) p = p * v + c;
  }
  double y = p * x;
  for (int i = 0; i < 2; ++i) y -= (erf(y) - x) * 0.88622692545275801365 * exp(y * y);
  return y;
}

)";
  return "inverse_erf";
}

}  // namespace causeway::lang::emit_text
