// Which names of a function body are assigned once and read only where that value is visible: those
// become values. The others become variables, declared in the innermost block that holds all uses.
#pragma once

#include "causeway/lang/ast.h"

#include <string_view>
#include <vector>

namespace causeway::lang {

struct NameUse {
  std::string_view name;
  bool variable = false;
  // The block of the syntax tree, numbered in the order of the text, where a variable is declared.
  std::uint32_t block = 0;
};

class NameUses {
 public:
  // Blocks are numbered in program order; the body is 0.
  NameUses(const Tree& tree, const FunctionNode& function);

  const NameUse* find(std::string_view name) const;

 private:
  struct Record {
    NameUse use;
    bool open = false;       // assigned in a block that is not closed yet
    std::uint32_t home = 0;  // that block
    bool seen = false;
    bool early_nested = false;  // first assigned in a nested block
  };

  void block(Range range, const Expr* loop_variable, bool loop);
  void statement(const Stmt& stmt);
  void target(ExprId id, bool also_read);
  void read(ExprId id);
  void assign(std::string_view name);
  void touch(Record& record);
  Record& record(std::string_view name);

  const Tree& tree_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> parents_;  // of blocks
  std::vector<bool> loops_;             // whether the block is a loop's body
  std::vector<std::uint32_t> stack_;
};

}  // namespace causeway::lang
