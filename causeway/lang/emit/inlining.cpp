#include "causeway/lang/emit/inlining.h"

#include <algorithm>

namespace causeway::lang::emit_text {

namespace {

constexpr std::size_t kNever = static_cast<std::size_t>(-1);

bool always_inlined(Op op) {
  return op == Op::param || op == Op::constant || op == Op::zero || op == Op::tid ||
         op == Op::shape || op == Op::result;
}

}  // namespace

Inlining::Inlining(const Module& module, const Function& function)
    : module_(module),
      function_(function),
      inlined_(function.insts.size()),
      uses_(function.insts.size()),
      home_(function.insts.size(), kAbsent),
      written_(function.insts.size()),
      where_(function.insts.size()),
      owner_(function.blocks.size(), kAbsent),
      effective_(function.insts.size(), kNever) {
  count_uses();
  find_written();
  for (ValueId id = 0; id < function.params.size(); ++id) inlined_[id] = true;
  decide(0);
}

void Inlining::count_uses() {
  std::vector<BlockId> blocks{0};
  while (!blocks.empty()) {
    const BlockId block = blocks.back();
    blocks.pop_back();
    const auto& insts = function_.blocks[block].insts;
    for (std::size_t at = 0; at < insts.size(); ++at) {
      const Inst& inst = function_[insts[at]];
      home_[insts[at]] = block;
      where_[insts[at]] = at;
      for (const ValueId operand : function_.args(inst)) {
        ++uses_[operand];
      }
      for (const BlockId inner : inst.blocks) {
        if (inner == kAbsent) continue;
        owner_[inner] = insts[at];
        blocks.push_back(inner);
      }
    }
  }
  first_user_.resize(function_.insts.size());
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    first_user_[i] = total;
    total += uses_[i];
  }
  users_.resize(total);
  std::vector<std::uint32_t> next = first_user_;
  for (ValueId id = 0; id < function_.insts.size(); ++id) {
    if (home_[id] == kAbsent) continue;
    for (const ValueId operand : function_.args(function_[id])) users_[next[operand]++] = id;
  }
}

void Inlining::find_written() {
  for (const Inst& inst : function_.insts) {
    if (inst.op == Op::store || is_atomic(inst.op)) written_[function_.arg(inst, 0)] = true;
    if (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects) {
      for (const ValueId operand : function_.args(inst)) written_[operand] = true;
    }
  }
  for (std::size_t i = function_.insts.size(); i-- > 0;) {  // through views
    const Inst& inst = function_.insts[i];
    if (inst.op == Op::view && written_[i]) written_[function_.arg(inst, 0)] = true;
  }
  for (std::size_t i = 0; i < function_.insts.size(); ++i) {
    const Inst& inst = function_.insts[i];
    if (inst.op == Op::view && written_[function_.arg(inst, 0)]) written_[i] = true;
  }
}

void Inlining::collect(BlockId block, Effects& effects) const {
  for (const ValueId id : function_.blocks[block].insts) {
    const Effects inner = effects_of(function_[id]);
    effects.memory = effects.memory || inner.memory;
    effects.variables.insert(effects.variables.end(), inner.variables.begin(),
                             inner.variables.end());
  }
}

Inlining::Effects Inlining::effects_of(const Inst& inst) const {
  Effects effects;
  if (inst.op == Op::store || is_atomic(inst.op)) effects.memory = true;
  if (inst.op == Op::call)
    effects.memory = module_.functions[static_cast<std::size_t>(inst.imm)].effects;
  if (inst.op == Op::set) effects.variables.push_back(function_.arg(inst, 0));
  for (const BlockId inner : inst.blocks) {
    if (inner != kAbsent) collect(inner, effects);
  }
  return effects;
}

bool Inlining::reads_memory(const Inst& inst) const {
  if (inst.op == Op::load) return written_[function_.arg(inst, 0)];
  if (inst.op != Op::call) return false;
  const auto operands = function_.args(inst);
  return std::any_of(operands.begin(), operands.end(), [&](ValueId id) { return written_[id]; });
}

void Inlining::reads_of(BlockId block, bool& memory, std::vector<ValueId>& variables) const {
  for (const ValueId id : function_.blocks[block].insts) {
    const Inst& inst = function_[id];
    memory = memory || reads_memory(inst);
    if (inst.op == Op::get) variables.push_back(function_.arg(inst, 0));
    for (const BlockId inner : inst.blocks) {
      if (inner != kAbsent) reads_of(inner, memory, variables);
    }
  }
}

bool Inlining::is_expression(BlockId block) const {
  const auto& insts = function_.blocks[block].insts;
  for (const ValueId id : insts) {
    if (function_[id].op != Op::yield && !inlined_[id]) return false;
  }
  return true;
}

void Inlining::decide(BlockId block) {
  const auto& insts = function_.blocks[block].insts;
  for (const ValueId id : insts) {
    for (const BlockId inner : function_[id].blocks) {
      if (inner != kAbsent) decide(inner);
    }
  }
  effects_.clear();
  for (const ValueId id : insts) effects_.push_back(effects_of(function_[id]));
  for (std::size_t at = insts.size(); at-- > 0;) decide_value(insts[at], at, effective_);
}

// In reverse order, so that the position of each user is known.
void Inlining::decide_value(ValueId id, std::size_t at, const std::vector<std::size_t>&) {
  const Inst& inst = function_[id];
  effective_[id] = at;
  if (always_inlined(inst.op)) {
    inlined_[id] = true;
    return;
  }
  const char trait = info(inst.op).trait;
  const bool cond = inst.op == Op::cond;
  const bool value = trait == 'p' || trait == 't' || inst.op == Op::get || inst.op == Op::load ||
                     inst.op == Op::call || cond;
  if (!value || inst.type == kNone || uses_[id] == 0 ||
      module_.types.is(inst.type, TypeKind::tuple) || inst.op == Op::insert ||
      inst.op == Op::insert_field) {
    return;
  }
  if (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects) return;
  const bool cheap =
      inst.op == Op::get ||
      ((inst.op == Op::extract || inst.op == Op::field) &&
       inlined_[function_.arg(inst, 0)] == false) ||
      (inst.op == Op::extract && function_[function_.arg(inst, 0)].op == Op::param) ||
      (inst.op == Op::field && function_[function_.arg(inst, 0)].op == Op::param);
  const bool component = inst.op == Op::extract || inst.op == Op::field;
  if (inst.op != Op::get && !inst.name.empty()) return;
  if (inst.op == Op::get && !inst.name.empty() &&
      inst.name != function_[function_.arg(inst, 0)].name)
    return;
  if (cond && (!is_expression(inst.blocks[0]) || !is_expression(inst.blocks[1]))) return;
  // All users must have a known position, in this block or in a region of it.
  bool memory = reads_memory(inst);
  std::vector<ValueId> variables;
  if (inst.op == Op::get) variables.push_back(function_.arg(inst, 0));
  if (cond) {
    reads_of(inst.blocks[0], memory, variables);
    reads_of(inst.blocks[1], memory, variables);
  }
  if (uses_[id] > 1 && !cheap && !(component && function_[function_.arg(inst, 0)].op == Op::get))
    return;
  std::size_t last = at;
  bool nested = false;
  for (std::uint32_t k = first_user_[id]; k < first_user_[id] + uses_[id]; ++k) {
    const ValueId other = users_[k];
    // A value with several users is inlined only if it is as cheap as a name.
    if (inlined_[other] && uses_[other] > 1 && inst.op != Op::get && !(component && cheap)) return;
    ValueId user = other;
    while (home_[user] != home_[id]) {
      user = owner_[home_[user]];
      nested = true;
      const Op op = function_[user].op;
      const bool repeats = op == Op::loop || op == Op::repeat;
      if (repeats && !cheap) return;
    }
    const bool is_bound =
        function_[other].op == Op::loop &&
        (function_.arg(function_[other], 1) == id || function_.arg(function_[other], 2) == id);
    if (is_bound && inst.op != Op::get) return;
    if (is_bound) nested = true;
    if (effective_[user] == kNever) return;
    last = std::max(last, effective_[user]);
  }
  if (nested && !cheap && trait != 'p') return;
  for (std::size_t i = at + 1; i <= last; ++i) {
    const Effects& effects = effects_[i];
    const Inst& between = function_[function_.blocks[home_[id]].insts[i]];
    const bool region = between.blocks[0] != kAbsent && between.op != Op::cond;
    if (i == last && !(region && nested)) break;
    if (memory && effects.memory) return;
    for (const ValueId variable : variables) {
      if (std::find(effects.variables.begin(), effects.variables.end(), variable) !=
          effects.variables.end())
        return;
    }
  }
  inlined_[id] = true;
  effective_[id] = last;
}

}  // namespace causeway::lang::emit_text
