#include "causeway/pairs/generate/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace causeway::pairs {

namespace {

std::string_view suffix(lang::Scalar scalar) {
  switch (scalar) {
    case lang::Scalar::f16: return "h";
    case lang::Scalar::f64: return "d";
    case lang::Scalar::i32: return "i";
    default: return "";
  }
}

std::string number_text(lang::Scalar scalar, double value) {
  if (!lang::is_float(scalar)) return std::to_string(static_cast<long long>(value));
  std::string text = std::to_string(static_cast<long long>(std::llround(std::fabs(value) * 1000)));
  while (text.size() < 4) text.insert(text.begin(), '0');
  text.insert(text.size() - 3, ".");
  while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
  return (value < 0 ? "-" : "") + text;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string annotation(ValueType type) {
  using Shape = ValueType::Shape;
  switch (type.shape) {
    case Shape::scalar:
      if (type.scalar == lang::Scalar::f32) return "float";
      if (type.scalar == lang::Scalar::i32) return "int";
      if (type.scalar == lang::Scalar::boolean) return "bool";
      return "wp." + std::string(lang::name_of(type.scalar));
    case Shape::vector:
      return "wp.vec" + std::to_string(type.rows) + std::string(suffix(type.scalar));
    case Shape::matrix:
      return "wp.mat" + std::to_string(type.rows) + std::to_string(type.cols) +
             std::string(suffix(type.scalar));
    case Shape::quaternion: return "wp.quat" + std::string(suffix(type.scalar));
  }
  return {};
}

Expr literal(lang::Scalar scalar, double value) {
  Expr result;
  const std::string number = number_text(scalar, value);
  const bool plain = scalar == lang::Scalar::f32 || scalar == lang::Scalar::i32;
  result.text = plain ? number : annotation(scalar_of(scalar)) + "(" + number + ")";
  result.binds = plain && value < 0 ? Binds::sign : Binds::atom;
  result.type = scalar_of(scalar);
  result.range = {value, value};
  result.phrase = number;
  result.literal = true;
  return result;
}

Expr variable_expr(const Variable& variable) {
  return {variable.name,
          Binds::atom,
          variable.type,
          variable.range,
          variable.phrase.empty() ? variable.name : variable.phrase,
          false};
}

std::string within(const Expr& expr, Binds needed) {
  return expr.binds < needed ? "(" + expr.text + ")" : expr.text;
}

Expr binary(char op, const Expr& a, const Expr& b, ValueType result) {
  const bool product = op != '+' && op != '-';
  const Binds binds = product ? Binds::product : Binds::sum;
  Expr expr;
  expr.text = within(a, binds) + ' ' + op + ' ' +
              within(b, static_cast<Binds>(static_cast<int>(binds) + 1));
  expr.binds = binds;
  expr.type = result;
  const char* word = " plus ";
  switch (op) {
    case '+': expr.range = a.range + b.range; break;
    case '-':
      expr.range = a.range - b.range;
      word = " minus ";
      break;
    case '*':
    case '@':
      expr.range = a.text == b.text && result.is_scalar() ? square(a.range) : a.range * b.range;
      word = " times ";
      break;
    default:
      expr.range = a.range / b.range;
      word = " divided by ";
      break;
  }
  expr.phrase =
      op == '*' && a.text == b.text ? "the square of " + a.phrase : a.phrase + word + b.phrase;
  expr.phrase = shortened(std::move(expr.phrase), expr.text);
  return expr;
}

Expr call(std::string_view name, std::initializer_list<const Expr*> arguments, ValueType result,
          Range range, std::string phrase) {
  Expr expr;
  expr.text = std::string(name) + "(";
  bool first = true;
  for (const Expr* argument : arguments) {
    if (!first) expr.text += ", ";
    first = false;
    expr.text += argument->text;
  }
  expr.text += ")";
  expr.type = result;
  expr.range = range;
  expr.phrase = shortened(std::move(phrase), expr.text);
  return expr;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isalpha(static_cast<unsigned char>(text[i])) == 0 && text[i] != '_') {
      i += is_name(text[i]) || text[i] == '.' ? 0 : 1;
      while (i < text.size() && (is_name(text[i]) || text[i] == '.') &&
             std::isalpha(static_cast<unsigned char>(text[i])) == 0)
        ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    const bool called = end < text.size() && text[end] == '(';
    const bool member = i > 0 && text[i - 1] == '.';
    const bool keyword = word == "if" || word == "else" || word == "and" || word == "or" ||
                         word == "not" || word == "wp" || word == "dtype" || word == "True";
    if (!called && !member && !keyword && std::ranges::find(names, word) == names.end())
      names.emplace_back(word);
    i = end;
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string shortened(std::string phrase, std::string_view text) {
  constexpr std::size_t kLongest = 90;
  if (phrase.size() <= kLongest) return phrase;
  std::vector<std::string> names = names_in(text);
  if (names.empty()) return "a constant";
  if (names.size() > 4) return "a combination of " + std::to_string(names.size()) + " values";
  return "a function of " + listed(names);
}

}  // namespace causeway::pairs
