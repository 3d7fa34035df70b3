// Writes one kernel: parameters, statements and what is known about the values of its names.
#pragma once

#include "causeway/pairs/generate/grammar.h"
#include "causeway/pairs/generate/names.h"
#include "causeway/pairs/program.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

// An array parameter as statements use it.
struct Array {
  std::string name;
  ValueType type;
  Range range;  // of its content before the launch

  // name[index]
  Expr at(const std::string& index) const {
    return {name + "[" + index + "]", Binds::atom, type, range, name};
  }
};

class Builder {
 public:
  Builder(std::uint64_t seed, int level, const Profile& profile);

  Dice dice;
  Names names;
  Grammar grammar;
  int level;

  // Sizes and parameters.
  int symbol(SizeSymbol symbol = {});
  void launch(std::vector<Size> dims) { dims_ = std::move(dims); }
  Array input(ValueType type, std::vector<Size> shape, Range range);
  // Numbers of integers: indices below `bound`, or a permutation of the first dimension.
  Array index_input(std::vector<Size> shape, Fill fill, Size bound = {});
  Array output(ValueType type, std::vector<Size> shape, double initial = 0);
  // An array that is read and written.
  Array updated(ValueType type, std::vector<Size> shape, Range range);
  // Adds the name to the scope too.
  Variable scalar(ValueType type, Range range);
  // An int parameter with the value of the size.
  std::string size_parameter(Size size, std::string_view preferred);
  Parameter& parameter(const std::string& name);

  // Statements.
  void line(std::string text);
  void open(std::string text) {  // a line that ends in a colon
    line(std::move(text));
    ++indent_;
  }
  void close() { --indent_; }
  // name = expr, with a new name, which joins the scope.
  Variable let(const Expr& expr, std::string name = {});
  // A variable that later statements change: s = float(0.0).
  Variable mutable_let(ValueType type, double initial, std::string name);
  Variable& in_scope(std::string_view name);
  // The expression, with the locals that no statement uses yet added to it.
  Expr absorb(Expr expr);
  // Locals of a block that ended are not absorbed.
  void forget_locals() { locals_.clear(); }
  void store(const Array& array, const std::string& index, const Expr& value) {
    line(array.name + "[" + index + "] = " + value.text);
  }
  // Text before the kernel: structs and functions.
  void preamble(std::string text) { preamble_ += text; }
  void add_parameter(Parameter parameter) { parameters_.push_back(std::move(parameter)); }

  // Depth of expressions and number of statements for the level.
  int depth() { return dice.between(1, level >= 4 ? 3 : level >= 2 ? 2 : 1); }
  int statements() { return dice.between(level > 1 ? 1 : 0, level); }
  Range usual_range(ValueType type);

  Program finish(Category category, std::string name, std::string description);

 private:
  bool is_used(const std::string& name, const std::string& text) const;

  int indent_ = 1;
  std::vector<Variable> locals_;
  std::string body_;
  std::string preamble_;
  std::vector<SizeSymbol> symbols_;
  std::vector<Size> dims_;
  std::vector<Parameter> parameters_;
};

}  // namespace causeway::pairs
