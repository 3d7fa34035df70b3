#include "causeway/lang/passes/passes.h"

#include <algorithm>
#include <unordered_map>

namespace causeway::lang {

namespace {

class Merge {
 public:
  Merge(const Module& module, Function& function, bool variables)
      : module_(module),
        function_(function),
        variables_(variables),
        replaced_(function.insts.size()),
        written_(function.insts.size()) {
    for (ValueId id = 0; id < replaced_.size(); ++id) replaced_[id] = id;
    for (const Inst& inst : function.insts) {
      if (inst.op == Op::store || is_atomic(inst.op)) written_[function.arg(inst, 0)] = true;
      if (inst.op == Op::call && module.functions[static_cast<std::size_t>(inst.imm)].effects) {
        for (const ValueId operand : function.args(inst)) written_[operand] = true;
      }
      if (inst.op == Op::view) written_[function.arg(inst, 0)] = true;
    }
  }

  void block(BlockId id) {
    const std::size_t scope = known_.size();
    std::vector<ValueId>& insts = function_.blocks[id].insts;
    std::size_t kept = 0;
    for (const ValueId value : insts) {
      Inst& inst = function_[value];
      for (ValueId& operand : function_.args(inst)) operand = replaced_[operand];
      if (may_merge(inst)) {
        const ValueId earlier = find(inst);
        if (earlier != kAbsent) {
          replaced_[value] = earlier;
          if (function_[earlier].name.empty()) function_[earlier].name = inst.name;
          continue;
        }
        known_.push_back({key(inst), value});
      }
      insts[kept++] = value;
      const bool repeats = inst.op == Op::loop || inst.op == Op::repeat;
      if (variables_ && repeats) forget(inst);
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
      if (variables_ && !repeats) forget(inst);
    }
    insts.resize(kept);
    known_.resize(scope);
  }

 private:
  struct Known {
    std::uint64_t key;
    ValueId value;
  };

  // Forgets the values of variables that the instruction or its regions assign.
  void forget(const Inst& inst) {
    if (inst.op == Op::set || inst.op == Op::var) {
      const ValueId var = inst.op == Op::set ? function_.arg(inst, 0)
                                             : static_cast<ValueId>(&inst - function_.insts.data());
      for (Known& known : known_) {
        const Inst& other = function_[known.value];
        if (other.op == Op::get && function_.arg(other, 0) == var) known.key = 0;
      }
    }
    for (const BlockId inner : inst.blocks) {
      if (inner == kAbsent) continue;
      for (const ValueId id : function_.blocks[inner].insts) forget(function_[id]);
    }
  }

  bool may_merge(const Inst& inst) const {
    if (inst.op == Op::get) return variables_;
    if (inst.op == Op::load) return !written_[function_.arg(inst, 0)];
    if (inst.op == Op::call) {
      const Function& callee = module_.functions[static_cast<std::size_t>(inst.imm)];
      return !callee.effects &&
             std::none_of(callee.params.begin(), callee.params.end(), [&](const Param& param) {
               return module_.types.is(param.type, TypeKind::array);
             });
    }
    const char trait = info(inst.op).trait;
    return (trait == 'p' || trait == 't') && inst.op != Op::param;
  }

  std::uint64_t key(const Inst& inst) const {
    std::uint64_t h = static_cast<std::uint64_t>(inst.op) * 0x9e3779b97f4a7c15ULL ^ inst.type;
    h = (h ^ static_cast<std::uint64_t>(inst.imm)) * 0xff51afd7ed558ccdULL;
    for (const ValueId operand : function_.args(inst))
      h = (h ^ operand) * 0xc4ceb9fe1a85ec53ULL + (h >> 29);
    return h;
  }

  ValueId find(const Inst& inst) const {
    const std::uint64_t wanted = key(inst);
    for (std::size_t i = known_.size(); i-- > 0;) {
      if (known_[i].key != wanted) continue;
      const Inst& other = function_[known_[i].value];
      const auto a = function_.args(inst);
      const auto b = function_.args(other);
      if (other.op == inst.op && other.type == inst.type && other.imm == inst.imm &&
          std::equal(a.begin(), a.end(), b.begin(), b.end())) {
        return known_[i].value;
      }
    }
    return kAbsent;
  }

  const Module& module_;
  Function& function_;
  bool variables_;
  std::vector<ValueId> replaced_;
  std::vector<bool> written_;
  std::vector<Known> known_;  // of the blocks that are open
};

}  // namespace

void merge_common(const Module& module, Function& function, bool variables) {
  Merge(module, function, variables).block(0);
}

}  // namespace causeway::lang
