// Variables within one block: reads after an assignment, assignments without a read.
#include "causeway/lang/passes/passes.h"

#include <algorithm>

namespace causeway::lang {

namespace {

void assigned_in(const Function& function, const Inst& inst, std::vector<ValueId>& out) {
  if (inst.op == Op::set) out.push_back(function.arg(inst, 0));
  for (const BlockId inner : inst.blocks) {
    if (inner == kAbsent) continue;
    for (const ValueId id : function.blocks[inner].insts) assigned_in(function, function[id], out);
  }
}

void read_in(const Function& function, const Inst& inst, std::vector<ValueId>& out) {
  if (inst.op == Op::get) out.push_back(function.arg(inst, 0));
  for (const BlockId inner : inst.blocks) {
    if (inner == kAbsent) continue;
    for (const ValueId id : function.blocks[inner].insts) read_in(function, function[id], out);
  }
}

class Forwarding {
 public:
  explicit Forwarding(Function& function) : function_(function), replaced_(function.insts.size()) {
    for (ValueId id = 0; id < replaced_.size(); ++id) replaced_[id] = id;
  }

  void block(BlockId id) {
    std::vector<std::pair<ValueId, ValueId>> known;
    std::vector<ValueId>& insts = function_.blocks[id].insts;
    std::size_t kept = 0;
    for (const ValueId value : insts) {
      Inst& inst = function_[value];
      for (ValueId& operand : function_.args(inst)) operand = replaced_[operand];
      if (inst.op == Op::get) {
        for (const auto& [var, held] : known) {
          if (var == function_.arg(inst, 0)) replaced_[value] = held;
        }
        insts[kept++] = value;
        if (replaced_[value] == value) known.emplace_back(function_.arg(inst, 0), value);
        continue;
      }
      if (inst.op == Op::set) {
        const std::pair<ValueId, ValueId> entry(function_.arg(inst, 0), function_.arg(inst, 1));
        if (std::find(known.begin(), known.end(), entry) != known.end())
          continue;  // it holds that already
      }
      insts[kept++] = value;
      assigned_.clear();
      assigned_in(function_, inst, assigned_);
      for (const ValueId var : assigned_)
        std::erase_if(known, [&](const auto& entry) { return entry.first == var; });
      if (inst.op == Op::set) known.emplace_back(function_.arg(inst, 0), function_.arg(inst, 1));
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
    }
    insts.resize(kept);
  }

 private:
  Function& function_;
  std::vector<ValueId> replaced_;
  std::vector<ValueId> assigned_;
};

// Visits blocks in reverse with the set of variables whose value is not needed any more.
void dead_sets(Function& function, BlockId block) {
  std::vector<ValueId>& insts = function.blocks[block].insts;
  std::vector<ValueId> dead;
  for (const ValueId id : insts) {
    if (function[id].op == Op::var) dead.push_back(id);  // its scope ends with the block
  }
  std::vector<bool> drop(insts.size());
  std::vector<ValueId> read;
  for (std::size_t i = insts.size(); i-- > 0;) {
    const Inst& inst = function[insts[i]];
    const auto in_dead = [&](ValueId var) {
      return std::find(dead.begin(), dead.end(), var) != dead.end();
    };
    const bool exits = inst.op == Op::leave || inst.op == Op::proceed;
    if (exits) dead.clear();
    if (inst.op == Op::set) {
      const ValueId var = function.arg(inst, 0);
      if (in_dead(var)) {
        drop[i] = true;
      } else {
        dead.push_back(var);
      }
      continue;
    }
    read.clear();
    read_in(function, inst, read);
    for (const ValueId var : read) std::erase(dead, var);
    if (inst.blocks[0] != kAbsent) {
      // A region may leave the block by break or continue, past an assignment that follows.
      std::erase_if(dead, [&](ValueId var) {
        return function[var].op != Op::var ||
               std::find(insts.begin(), insts.end(), var) == insts.end();
      });
    }
    for (const BlockId inner : inst.blocks) {
      if (inner != kAbsent) dead_sets(function, inner);
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < insts.size(); ++i) {
    if (!drop[i]) insts[kept++] = insts[i];
  }
  insts.resize(kept);
}

}  // namespace

void forward_variables(Function& function) { Forwarding(function).block(0); }
void drop_dead_sets(Function& function) { dead_sets(function, 0); }

}  // namespace causeway::lang
