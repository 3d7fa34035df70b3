#include "causeway/lang/passes/passes.h"

#include <algorithm>
#include <bit>

namespace causeway::lang {

namespace {

class Merge {
 public:
  Merge(const Module& module, Function& function, bool variables)
      : module_(module),
        function_(function),
        variables_(variables),
        replaced_(function.insts.size()),
        written_(function.insts.size()),
        heads_(std::bit_ceil(function.insts.size())) {
    known_.reserve(32);
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
        const std::uint64_t hash = key(inst);
        const ValueId earlier = find(inst, hash);
        if (earlier != kAbsent) {
          replaced_[value] = earlier;
          if (function_[earlier].name.empty()) function_[earlier].name = inst.name;
          continue;
        }
        std::uint32_t& head = heads_[slot(hash)];
        known_.push_back({hash, value, head});
        head = static_cast<std::uint32_t>(known_.size());
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
    for (; known_.size() > scope; known_.pop_back())
      heads_[slot(known_.back().hash)] = known_.back().next;
  }

 private:
  struct Known {
    std::uint64_t hash;
    ValueId value;       // kAbsent if it is forgotten
    std::uint32_t next;  // of the same slot: 1 + an index into known_, 0 at the end
  };

  std::size_t slot(std::uint64_t hash) const { return (hash >> 32) & (heads_.size() - 1); }

  // Forgets the values of variables that the instruction or its regions assign.
  void forget(const Inst& inst) {
    if (inst.op == Op::set || inst.op == Op::var) {
      const ValueId var = inst.op == Op::set ? function_.arg(inst, 0)
                                             : static_cast<ValueId>(&inst - function_.insts.data());
      for (Known& known : known_) {
        if (known.value == kAbsent) continue;
        const Inst& other = function_[known.value];
        if (other.op == Op::get && function_.arg(other, 0) == var) known.value = kAbsent;
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

  ValueId find(const Inst& inst, std::uint64_t hash) const {
    for (std::uint32_t i = heads_[slot(hash)]; i != 0; i = known_[i - 1].next) {
      const Known& known = known_[i - 1];
      if (known.hash != hash || known.value == kAbsent) continue;
      const Inst& other = function_[known.value];
      const auto a = function_.args(inst);
      const auto b = function_.args(other);
      if (other.op == inst.op && other.type == inst.type && other.imm == inst.imm &&
          std::equal(a.begin(), a.end(), b.begin(), b.end())) {
        return known.value;
      }
    }
    return kAbsent;
  }

  const Module& module_;
  Function& function_;
  bool variables_;
  std::vector<ValueId> replaced_;
  std::vector<bool> written_;
  std::vector<Known> known_;          // of the blocks that are open
  std::vector<std::uint32_t> heads_;  // a hash table of known_
};

}  // namespace

void merge_common(const Module& module, Function& function, bool variables) {
  Merge(module, function, variables).block(0);
}

}  // namespace causeway::lang
