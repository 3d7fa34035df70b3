// Which values are written inside the expression that uses them, and which get a name.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <vector>

namespace causeway::lang::emit_text {

class Inlining {
 public:
  Inlining(const Module& module, const Function& function);

  bool inlined(ValueId id) const { return values_[id].inlined; }
  std::uint32_t uses(ValueId id) const { return values_[id].uses; }
  // Every instruction of the block is part of its last one's expression.
  bool is_expression(BlockId block) const;
  bool array_written(ValueId array) const { return values_[array].written; }

 private:
  static constexpr std::uint32_t kNever = static_cast<std::uint32_t>(-1);

  struct Value {
    bool inlined = false;
    bool written = false;  // an array that this function writes
    std::uint32_t uses = 0;
    std::uint32_t first_user = 0;      // into users_
    BlockId home = kAbsent;            // its block
    std::uint32_t effective = kNever;  // the position in its block where it is evaluated
  };

  // Of an instruction with its regions.
  struct Effects {
    bool memory = false;
    std::uint32_t first = 0;  // the variables it assigns: assigned_[first .. end)
    std::uint32_t end = 0;
  };

  void count_uses();
  void find_written();
  void decide(BlockId block);
  void decide_value(ValueId id, std::uint32_t at);
  void add_effects(const Inst& inst, Effects& effects);
  bool assigns(const Effects& effects, ValueId variable) const;
  bool reads_memory(const Inst& inst) const;
  void add_reads(BlockId block, bool& memory);

  const Module& module_;
  const Function& function_;
  std::vector<Value> values_;
  std::vector<ValueId> users_;
  std::vector<ValueId> owner_;    // the instruction a block belongs to
  std::vector<Effects> effects_;  // of the instructions of the block at hand
  std::vector<ValueId> assigned_;
  std::vector<ValueId> read_;  // variables that the value at hand reads
};

}  // namespace causeway::lang::emit_text
