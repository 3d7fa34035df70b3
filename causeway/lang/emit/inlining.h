// Which values are written inside the expression that uses them, and which get a name.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <vector>

namespace causeway::lang::emit_text {

class Inlining {
 public:
  Inlining(const Module& module, const Function& function);

  bool inlined(ValueId id) const { return inlined_[id]; }
  std::uint32_t uses(ValueId id) const { return uses_[id]; }
  // Every instruction of the block is part of its last one's expression.
  bool is_expression(BlockId block) const;
  bool reads_written(ValueId load) const {
    return !written_.empty() && written_[function_.arg(function_[load], 0)];
  }
  bool array_written(ValueId array) const { return written_[array]; }

 private:
  struct Effects {
    bool memory = false;
    std::vector<ValueId> variables;
  };

  void count_uses();
  void find_written();
  void decide(BlockId block);
  void decide_value(ValueId id, std::size_t at, const std::vector<std::size_t>& effective);
  Effects effects_of(const Inst& inst) const;
  void collect(BlockId block, Effects& effects) const;
  bool reads_memory(const Inst& inst) const;
  void reads_of(BlockId block, bool& memory, std::vector<ValueId>& variables) const;

  const Module& module_;
  const Function& function_;
  std::vector<bool> inlined_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> first_user_;  // into users_
  std::vector<ValueId> users_;
  std::vector<BlockId> home_;       // the block of a value
  std::vector<bool> written_;       // arrays that this function writes
  std::vector<std::size_t> where_;  // position of an instruction in its block
  std::vector<ValueId> owner_;      // the instruction a block belongs to
  std::vector<std::size_t> effective_;
  std::vector<Effects> effects_;  // of the instructions of the block at hand
};

}  // namespace causeway::lang::emit_text
