// Statements with control flow: branches and loops that change variables whose range stays known.
#pragma once

#include "causeway/pairs/generate/builder.h"

namespace causeway::pairs {

struct BlockOptions {
  int budget = 3;   // statements
  int nesting = 2;  // of branches and loops
  bool in_loop = false;
};

// A variable that statements of a block may assign. Its range in scope holds at all times.
struct Mutable {
  std::string name;
  ValueType type;
  double bound;  // |value| stays below it
};

class Blocks {
 public:
  Blocks(Builder& builder, ValueType type) : b_(builder), type_(type) {}

  // Declares a variable with the value of an expression.
  void declare();
  void block(const BlockOptions& options);
  void branch(const BlockOptions& options);
  void counted_loop(const BlockOptions& options);
  void while_loop(const BlockOptions& options);
  void assign();

  // What the statements do, for the description.
  std::vector<std::string> phrases;
  const std::vector<Mutable>& variables() const { return variables_; }

 private:
  std::string trips(double& most);
  void leave_early();

  Builder& b_;
  ValueType type_;
  std::vector<Mutable> variables_;
};

}  // namespace causeway::pairs
