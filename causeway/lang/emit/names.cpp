#include "causeway/lang/emit/names.h"

#include <algorithm>
#include <unordered_map>

namespace causeway::lang::emit_text {

namespace {

enum class Word : std::uint8_t {
  free,
  reserved,  // keywords, CUDA's variables and functions of the math library
  helper,    // of emitted programs
};

constexpr std::string_view kReserved[] = {"alignas",
                                          "alignof",
                                          "and",
                                          "and_eq",
                                          "asm",
                                          "auto",
                                          "bitand",
                                          "bitor",
                                          "bool",
                                          "break",
                                          "case",
                                          "catch",
                                          "char",
                                          "char8_t",
                                          "char16_t",
                                          "char32_t",
                                          "class",
                                          "compl",
                                          "concept",
                                          "const",
                                          "consteval",
                                          "constexpr",
                                          "constinit",
                                          "const_cast",
                                          "continue",
                                          "co_await",
                                          "co_return",
                                          "co_yield",
                                          "decltype",
                                          "default",
                                          "delete",
                                          "do",
                                          "double",
                                          "dynamic_cast",
                                          "else",
                                          "enum",
                                          "explicit",
                                          "export",
                                          "extern",
                                          "false",
                                          "float",
                                          "for",
                                          "friend",
                                          "goto",
                                          "if",
                                          "inline",
                                          "int",
                                          "long",
                                          "mutable",
                                          "namespace",
                                          "new",
                                          "noexcept",
                                          "not",
                                          "not_eq",
                                          "nullptr",
                                          "operator",
                                          "or",
                                          "or_eq",
                                          "private",
                                          "protected",
                                          "public",
                                          "register",
                                          "reinterpret_cast",
                                          "requires",
                                          "return",
                                          "short",
                                          "signed",
                                          "sizeof",
                                          "static",
                                          "static_assert",
                                          "static_cast",
                                          "struct",
                                          "switch",
                                          "template",
                                          "this",
                                          "thread_local",
                                          "throw",
                                          "true",
                                          "try",
                                          "typedef",
                                          "typeid",
                                          "typename",
                                          "union",
                                          "unsigned",
                                          "using",
                                          "virtual",
                                          "void",
                                          "volatile",
                                          "wchar_t",
                                          "while",
                                          "xor",
                                          "xor_eq",
                                          "blockIdx",
                                          "blockDim",
                                          "threadIdx",
                                          "gridDim",
                                          "warpSize",
                                          "half",
                                          "assert",
                                          "printf",
                                          "NULL",
                                          "main",
                                          "sqrtf",
                                          "sqrt",
                                          "cbrtf",
                                          "cbrt",
                                          "expf",
                                          "exp",
                                          "logf",
                                          "log",
                                          "log2f",
                                          "log2",
                                          "log10f",
                                          "log10",
                                          "sinf",
                                          "sin",
                                          "cosf",
                                          "cos",
                                          "tanf",
                                          "tan",
                                          "asinf",
                                          "asin",
                                          "acosf",
                                          "acos",
                                          "atanf",
                                          "atan",
                                          "sinhf",
                                          "sinh",
                                          "coshf",
                                          "cosh",
                                          "tanhf",
                                          "tanh",
                                          "floorf",
                                          "floor",
                                          "ceilf",
                                          "ceil",
                                          "truncf",
                                          "trunc",
                                          "roundf",
                                          "round",
                                          "rintf",
                                          "rint",
                                          "erff",
                                          "erf",
                                          "erfcf",
                                          "erfc",
                                          "erfinvf",
                                          "erfinv",
                                          "erfcinvf",
                                          "erfcinv",
                                          "powf",
                                          "pow",
                                          "atan2f",
                                          "atan2",
                                          "fminf",
                                          "fmin",
                                          "fmaxf",
                                          "fmax",
                                          "fmodf",
                                          "fmod",
                                          "copysignf",
                                          "copysign",
                                          "fabsf",
                                          "fabs",
                                          "abs",
                                          "min",
                                          "max",
                                          "isnan",
                                          "isinf",
                                          "isfinite",
                                          "sign",
                                          "bit_count",
                                          "gamma",
                                          "j0",
                                          "j1",
                                          "jn",
                                          "y0",
                                          "y1",
                                          "yn",
                                          "signbit",
                                          "norm",
                                          "hypot",
                                          "div",
                                          "exit",
                                          "abort",
                                          "rand",
                                          "time",
                                          "clock",
                                          "index",
                                          "remainder",
                                          "exp2",
                                          "exp10",
                                          "expm1",
                                          "log1p",
                                          "fma",
                                          "fdim",
                                          "ldexp",
                                          "frexp",
                                          "modf",
                                          "lgamma",
                                          "tgamma",
                                          "logb",
                                          "ilogb",
                                          "saturate"};
constexpr std::string_view kHelpers[] = {
    "push",        "pop", "Tape", "tape", "tape_words", "tape_capacity",
    "tape_needed", "at",  "with", "row",  "with_row",   "inverse_erf"};

Word word_of(std::string_view name) {
  static const auto* const words = [] {
    auto* map = new std::unordered_map<std::string_view, Word>();
    for (const std::string_view word : kReserved) map->emplace(word, Word::reserved);
    for (const std::string_view word : kHelpers) map->emplace(word, Word::helper);
    return map;
  }();
  const auto found = words->find(name);
  return found == words->end() ? Word::free : found->second;
}

}  // namespace

bool is_reserved(std::string_view name) { return word_of(name) == Word::reserved; }

std::string NameScope::unique(std::string_view wanted) {
  std::string name(wanted);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '\''; }, '_');
  const Word word = word_of(name);
  if (word == Word::reserved || name.starts_with("__")) name += '_';
  // Names that a type of this program may have, or get later.
  const bool sized = (name.starts_with("vec") || name.starts_with("mat")) && name.size() > 3 &&
                     name[3] >= '0' && name[3] <= '9';
  if (outer_ != nullptr && (sized || name.starts_with("quat") || name.starts_with("values")))
    name += '_';
  if (word == Word::helper || is_taken(name)) {
    const std::string base = name;
    int number = 0;
    do {
      name = base + "_" + std::to_string(++number);
    } while (is_taken(name));
  }
  made_.push_back(&*used_.emplace(name).first);
  return name;
}

bool NameScope::is_taken(std::string_view name) const {
  return used_.contains(name) || (outer_ != nullptr && outer_->is_taken(name));
}

void NameScope::release(std::size_t mark) {
  for (; made_.size() > mark; made_.pop_back()) used_.erase(used_.find(*made_.back()));
}

}  // namespace causeway::lang::emit_text
