#include "causeway/lang/emit/inlining.h"

#include <algorithm>

namespace causeway::lang::emit_text {

namespace {

bool always_inlined(Op op) {
  return op == Op::param || op == Op::constant || op == Op::zero || op == Op::tid ||
         op == Op::shape || op == Op::result;
}

}  // namespace

Inlining::Inlining(const Module& module, const Function& function)
    : module_(module),
      function_(function),
      values_(function.insts.size()),
      owner_(function.blocks.size(), kAbsent) {
  count_uses();
  find_written();
  for (ValueId id = 0; id < function.params.size(); ++id) values_[id].inlined = true;
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
      values_[insts[at]].home = block;
      for (const ValueId operand : function_.args(inst)) ++values_[operand].uses;
      for (const BlockId inner : inst.blocks) {
        if (inner == kAbsent) continue;
        owner_[inner] = insts[at];
        blocks.push_back(inner);
      }
    }
  }
  std::uint32_t total = 0;
  for (Value& value : values_) {
    total += value.uses;
    value.first_user = total;  // while users_ is filled from the end, one past the first
  }
  users_.resize(total);
  for (std::size_t id = function_.insts.size(); id-- > 0;) {
    if (values_[id].home == kAbsent) continue;
    const auto operands = function_.args(function_.insts[id]);
    for (std::size_t i = operands.size(); i-- > 0;)
      users_[--values_[operands[i]].first_user] = static_cast<ValueId>(id);
  }
}

void Inlining::find_written() {
  bool views = false;
  for (const Inst& inst : function_.insts) {
    if (inst.op == Op::store || is_atomic(inst.op)) values_[function_.arg(inst, 0)].written = true;
    if (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects) {
      for (const ValueId operand : function_.args(inst)) values_[operand].written = true;
    }
    views = views || inst.op == Op::view;
  }
  if (!views) return;
  for (std::size_t i = function_.insts.size(); i-- > 0;) {  // from views to arrays
    const Inst& inst = function_.insts[i];
    if (inst.op == Op::view && values_[i].written) values_[function_.arg(inst, 0)].written = true;
  }
  for (std::size_t i = 0; i < function_.insts.size(); ++i) {  // and from arrays to views
    const Inst& inst = function_.insts[i];
    if (inst.op == Op::view && values_[function_.arg(inst, 0)].written) values_[i].written = true;
  }
}

void Inlining::add_effects(const Inst& inst, Effects& effects) {
  if (inst.op == Op::store || is_atomic(inst.op)) effects.memory = true;
  if (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects)
    effects.memory = true;
  if (inst.op == Op::set) assigned_.push_back(function_.arg(inst, 0));
  for (const BlockId inner : inst.blocks) {
    if (inner == kAbsent) continue;
    for (const ValueId id : function_.blocks[inner].insts) add_effects(function_[id], effects);
  }
}

bool Inlining::assigns(const Effects& effects, ValueId variable) const {
  const auto end = assigned_.begin() + effects.end;
  return std::find(assigned_.begin() + effects.first, end, variable) != end;
}

bool Inlining::reads_memory(const Inst& inst) const {
  if (inst.op == Op::load) return values_[function_.arg(inst, 0)].written;
  if (inst.op != Op::call) return false;
  const auto operands = function_.args(inst);
  return std::any_of(operands.begin(), operands.end(),
                     [&](ValueId id) { return values_[id].written; });
}

void Inlining::add_reads(BlockId block, bool& memory) {
  for (const ValueId id : function_.blocks[block].insts) {
    const Inst& inst = function_[id];
    memory = memory || reads_memory(inst);
    if (inst.op == Op::get) read_.push_back(function_.arg(inst, 0));
    for (const BlockId inner : inst.blocks) {
      if (inner != kAbsent) add_reads(inner, memory);
    }
  }
}

bool Inlining::is_expression(BlockId block) const {
  const auto& insts = function_.blocks[block].insts;
  for (const ValueId id : insts) {
    if (function_[id].op != Op::yield && !values_[id].inlined) return false;
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
  effects_.assign(insts.size(), {});
  assigned_.clear();
  for (std::size_t i = 0; i < insts.size(); ++i) {
    effects_[i].first = static_cast<std::uint32_t>(assigned_.size());
    add_effects(function_[insts[i]], effects_[i]);
    effects_[i].end = static_cast<std::uint32_t>(assigned_.size());
  }
  for (std::size_t at = insts.size(); at-- > 0;)
    decide_value(insts[at], static_cast<std::uint32_t>(at));
}

// In reverse order, so that the position of each user is known.
void Inlining::decide_value(ValueId id, std::uint32_t at) {
  const Inst& inst = function_[id];
  values_[id].effective = at;
  if (always_inlined(inst.op)) {
    values_[id].inlined = true;
    return;
  }
  const char trait = info(inst.op).trait;
  const bool cond = inst.op == Op::cond;
  const bool value = trait == 'p' || trait == 't' || inst.op == Op::get || inst.op == Op::load ||
                     inst.op == Op::call || cond;
  if (!value || inst.type == kNone || values_[id].uses == 0 ||
      module_.types.is(inst.type, TypeKind::tuple) || inst.op == Op::insert ||
      inst.op == Op::insert_field) {
    return;
  }
  if (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects) return;
  const bool cheap =
      inst.op == Op::get ||
      ((inst.op == Op::extract || inst.op == Op::field) &&
       values_[function_.arg(inst, 0)].inlined == false) ||
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
  read_.clear();
  if (inst.op == Op::get) read_.push_back(function_.arg(inst, 0));
  if (cond) {
    add_reads(inst.blocks[0], memory);
    add_reads(inst.blocks[1], memory);
  }
  if (values_[id].uses > 1 && !cheap &&
      !(component && function_[function_.arg(inst, 0)].op == Op::get))
    return;
  std::uint32_t last = at;
  bool nested = false;
  for (std::uint32_t k = values_[id].first_user; k < values_[id].first_user + values_[id].uses;
       ++k) {
    const ValueId other = users_[k];
    // A value with several users is inlined only if it is as cheap as a name.
    if (values_[other].inlined && values_[other].uses > 1 && inst.op != Op::get &&
        !(component && cheap))
      return;
    ValueId user = other;
    while (values_[user].home != values_[id].home) {
      user = owner_[values_[user].home];
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
    if (values_[user].effective == kNever) return;
    last = std::max(last, values_[user].effective);
  }
  if (nested && !cheap && trait != 'p') return;
  const bool reads = memory || !read_.empty();
  for (std::uint32_t i = at + 1; reads && i <= last; ++i) {
    const Effects& effects = effects_[i];
    const Inst& between = function_[function_.blocks[values_[id].home].insts[i]];
    const bool region = between.blocks[0] != kAbsent && between.op != Op::cond;
    if (i == last && !(region && nested)) break;
    if (memory && effects.memory) return;
    for (const ValueId variable : read_) {
      if (assigns(effects, variable)) return;
    }
  }
  values_[id].inlined = true;
  values_[id].effective = last;
}

}  // namespace causeway::lang::emit_text
