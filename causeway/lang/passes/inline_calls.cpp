#include "causeway/lang/passes/clone.h"
#include "causeway/lang/passes/exits.h"
#include "causeway/lang/passes/passes.h"

namespace causeway::lang {

namespace {

class Inliner {
 public:
  Inliner(Module& module, Function& function, const std::vector<bool>& wanted)
      : module_(module), function_(function), wanted_(wanted), b_(module, function) {}

  void block(BlockId id) {
    const std::vector<ValueId> insts = std::move(function_.blocks[id].insts);
    function_.blocks[id].insts.clear();
    for (const ValueId value : insts) {
      for (ValueId& operand : function_.args(function_[value])) operand = current(operand);
      const Inst inst = function_[value];
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
      b_.set_block(id);
      if (inst.op == Op::call && wanted_[static_cast<std::size_t>(inst.imm)]) {
        expand(inst, value);
      } else if (inst.op == Op::result && !results_of(function_.arg(inst, 0)).empty()) {
        replace(value, results_of(function_.arg(inst, 0))[static_cast<std::size_t>(inst.imm)]);
      } else {
        b_.append(value);
      }
    }
  }

 private:
  ValueId current(ValueId id) const {
    return id < replaced_.size() && replaced_[id] != kAbsent ? replaced_[id] : id;
  }
  void replace(ValueId id, ValueId with) {
    if (replaced_.size() <= id) replaced_.resize(id + 1, kAbsent);
    replaced_[id] = with;
  }
  const std::vector<ValueId>& results_of(ValueId call) const {
    static const std::vector<ValueId> none;
    for (const auto& [id, values] : results_) {
      if (id == call) return values;
    }
    return none;
  }

  void expand(const Inst& inst, ValueId id) {
    Function callee = module_.functions[static_cast<std::size_t>(inst.imm)];
    normalize_exits(module_, callee);
    inline_calls(module_, callee, wanted_);
    std::vector<ValueId> values(callee.insts.size(), kAbsent);
    for (std::uint32_t i = 0; i < inst.count; ++i) values[i] = function_.arg(inst, i);
    auto& insts = callee.blocks[0].insts;
    std::vector<ValueId> given;
    if (!insts.empty() && callee[insts.back()].op == Op::give) {
      for (const ValueId operand : callee.args(callee[insts.back()])) given.push_back(operand);
      insts.pop_back();
    }
    Cloner(callee, b_, values).block(0);
    function_.optimized = false;
    for (ValueId& value : given) value = values[value];
    if (given.size() == 1) replace(id, given[0]);
    if (given.size() > 1) results_.emplace_back(id, given);
  }

  Module& module_;
  Function& function_;
  const std::vector<bool>& wanted_;
  Builder b_;
  std::vector<ValueId> replaced_;
  std::vector<std::pair<ValueId, std::vector<ValueId>>> results_;
};

}  // namespace

void inline_calls(Module& module, Function& function, const std::vector<bool>& wanted) {
  Inliner(module, function, wanted).block(0);
}

}  // namespace causeway::lang
