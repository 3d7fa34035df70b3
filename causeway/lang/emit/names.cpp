#include "causeway/lang/emit/names.h"

namespace causeway::lang::emit_text {

bool is_reserved(std::string_view name) {
  static const auto* const words = new std::unordered_set<std::string_view>{
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
      "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr",
      "constinit", "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete",
      "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
      "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
      "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
      "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
      "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
      "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      "blockIdx", "blockDim", "threadIdx", "gridDim", "warpSize", "half", "assert", "printf", "NULL", "main",
      "sqrtf", "sqrt", "cbrtf", "cbrt", "expf", "exp", "logf", "log", "log2f", "log2", "log10f", "log10", "sinf",
      "sin", "cosf", "cos", "tanf", "tan", "asinf", "asin", "acosf", "acos", "atanf", "atan", "sinhf", "sinh",
      "coshf", "cosh", "tanhf", "tanh", "floorf", "floor", "ceilf", "ceil", "truncf", "trunc", "roundf", "round",
      "rintf", "rint", "erff", "erf", "erfcf", "erfc", "erfinvf", "erfinv", "erfcinvf", "erfcinv", "powf", "pow",
      "atan2f", "atan2", "fminf", "fmin", "fmaxf", "fmax", "fmodf", "fmod", "copysignf", "copysign", "fabsf",
      "fabs", "abs", "min", "max", "isnan", "isinf", "isfinite", "sign", "bit_count", "gamma", "j0", "j1", "jn", "y0", "y1", "yn",
      "signbit", "norm", "hypot", "div", "exit", "abort", "rand", "time", "clock", "index", "remainder", "exp2", "exp10", "expm1", "log1p", "fma", "fdim", "ldexp", "frexp", "modf", "lgamma", "tgamma", "logb", "ilogb", "saturate"};
  return words->contains(name);
}

std::string NameScope::unique(std::string_view wanted) {
  std::string base;
  for (const char c : wanted) base += c == '.' || c == '\'' ? '_' : c;
  if (is_reserved(base) || base.starts_with("__")) base += '_';
  std::string name = base;
  for (int i = 1; !used_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  made_.push_back(name);
  return name;
}

void NameScope::release(std::size_t mark) {
  for (; made_.size() > mark; made_.pop_back()) used_.erase(made_.back());
}

}  // namespace causeway::lang::emit_text
