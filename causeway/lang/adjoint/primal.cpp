// Values of the forward pass in the backward pass: reused, recomputed, or saved.
#include "causeway/lang/adjoint/reverse.h"

namespace causeway::lang::adjoint {

// Whether the variable still has the value that `get` read: all assignments precede it, and no loop
// repeats them.
bool Reverse::still_holds(ValueId get) const {
  const ValueId var = w_.arg(w_[get], 0);
  if (home_[var] != 0) return false;
  for (BlockId block = 0; block < w_.blocks.size(); ++block) {
    for (const ValueId id : w_.blocks[block].insts) {
      const Inst& inst = w_[id];
      if (inst.op != Op::set || w_.arg(inst, 0) != var) continue;
      if (position_[id] > position_[get]) return false;
      for (ValueId loop = loop_around(home_[get]); loop != kAbsent;
           loop = loop_around(home_[loop])) {
        const BlockId body = w_[loop].blocks[w_[loop].op == Op::loop ? 0 : 1];
        if (is_within(block, body)) return false;
      }
    }
  }
  return true;
}

ValueId Reverse::saved(ValueId id) {
  std::size_t index = save_of_[id];
  const ValueId loop = loop_around(home_[id]);
  if (index == static_cast<std::size_t>(-1)) {
    index = saves_.size();
    save_of_[id] = index;
    Save save;
    save.value = id;
    const BlockId body =
        loop == kAbsent ? kAbsent : w_[loop].blocks[w_[loop].op == Op::loop ? 0 : 1];
    const BlockId here = b_.block();
    if (loop == kAbsent || home_[id] != body) {
      b_.set_block(prologue_);
      save.variable = b_.var(w_[id].type, w_[id].name);
      b_.set(save.variable, b_.zero(w_[id].type));
    }
    if (loop != kAbsent) {
      b_.set_block(here);
      save.popped = b_.detached(Op::pop, w_[id].type, {});
      out_[save.popped].name = w_[id].name;
      for (LoopState& state : loops_) {
        if (state.loop == loop) state.saves.push_back(index);
      }
    }
    b_.set_block(here);
    saves_.push_back(save);
  }
  if (loop != kAbsent) return saves_[index].popped;
  return b_.get(saves_[index].variable);
}

ValueId Reverse::primal(ValueId id) {
  const Inst& inst = w_[id];
  if (inst.op == Op::param) return forward_[id];
  if (inst.op == Op::loop) {
    for (const LoopState& state : loops_) {
      if (state.loop == id) return state.index;
    }
  }
  if (home_[id] == 0) return forward_[id];
  for (std::size_t i = memo_.size(); i-- > 0;) {
    if (memo_[i].first == id) return memo_[i].second;
  }
  bool again = info(inst.op).trait == 'p' || info(inst.op).trait == 't';
  if (inst.op == Op::load) {
    ValueId array = w_.arg(inst, 0);
    while (w_[array].op == Op::view) array = w_.arg(w_[array], 0);
    again = !written_[array];
  }
  // Calls are repeated rather than saved; those that remain here have no effects.
  if (inst.op == Op::call) again = true;
  if (inst.op == Op::get && still_holds(id)) {
    const ValueId value = b_.get(forward_[w_.arg(inst, 0)]);
    memo_.emplace_back(id, value);
    return value;
  }
  ValueId value = kAbsent;
  if (again) {
    const std::size_t first = operands_.size();
    for (const ValueId operand : w_.args(inst)) operands_.push_back(primal(operand));
    b_.set_span(inst.span);
    value = b_.emit(inst.op, inst.type, std::span(operands_).subspan(first), inst.imm);
    operands_.resize(first);
    out_[value].name = inst.name;
  } else {
    value = saved(id);
  }
  memo_.emplace_back(id, value);
  return value;
}

}  // namespace causeway::lang::adjoint
