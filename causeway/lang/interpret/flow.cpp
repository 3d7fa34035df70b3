// Regions, loops, branches and calls, with a mask of the active lanes.
#include "causeway/lang/interpret/machine.h"

namespace causeway::lang::interpret {

namespace {

Mask true_lanes(const std::byte* condition, Mask mask) {
  const auto* values = reinterpret_cast<const std::uint8_t*>(condition);
  Mask taken = 0;
  for (int i = 0; i < kLanes; ++i) taken |= static_cast<Mask>(values[i] != 0) << i;
  return taken & mask;
}

}  // namespace

Mask Machine::run_block(Frame& frame, BlockId block, Mask mask) {
  const Function& function = *frame.plan->function;
  for (const ValueId id : function.blocks[block].insts) {
    if (mask == 0) return 0;
    const Inst& inst = function[id];
    switch (inst.op) {
      case Op::branch: {
        const Mask taken = true_lanes(reg(frame, function.arg(inst, 0)), mask);
        Mask after = taken == 0 ? 0 : run_block(frame, inst.blocks[0], taken);
        if ((mask & ~taken) != 0) after |= run_block(frame, inst.blocks[1], mask & ~taken);
        mask = after;
        break;
      }
      case Op::loop: mask = run_loop(frame, inst, id, mask); break;
      case Op::repeat: mask = run_while(frame, inst, mask); break;
      case Op::cond: run_cond(frame, inst, id, mask); break;
      case Op::call: run_call(frame, inst, id, mask); break;
      case Op::leave: frame.broke |= mask; return 0;
      case Op::proceed: frame.continued |= mask; return 0;
      case Op::give: give(frame, inst, mask); return 0;
      case Op::yield: break;
      default: execute(frame, inst, id, mask); break;
    }
  }
  return mask;
}

Mask Machine::run_loop(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  auto* index = reinterpret_cast<std::int32_t*>(reg(frame, id));
  std::int32_t stop[kLanes];
  std::int32_t by[kLanes];
  std::memcpy(index, reg(frame, function.arg(inst, 0)), sizeof stop);
  std::memcpy(stop, reg(frame, function.arg(inst, 1)), sizeof stop);
  std::memcpy(by, reg(frame, function.arg(inst, 2)), sizeof by);
  const Mask outer_broke = frame.broke;
  const Mask outer_continued = frame.continued;
  frame.broke = 0;
  Mask active = mask;
  for (;;) {
    for_lanes(active, [&](int i) {
      const bool runs = by[i] > 0 ? index[i] < stop[i] : by[i] < 0 && index[i] > stop[i];
      if (!runs) active &= ~(Mask{1} << i);
    });
    if (active == 0) break;
    step(frame, inst.span);
    frame.continued = 0;
    const Mask through = run_block(frame, inst.blocks[0], active);
    active = through | frame.continued;
    for (int i = 0; i < kLanes; ++i) {
      index[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(index[i]) +
                                           static_cast<std::uint32_t>(by[i]));
    }
  }
  frame.broke = outer_broke;
  frame.continued = outer_continued;
  return mask & ~frame.returned;
}

Mask Machine::run_while(Frame& frame, const Inst& inst, Mask mask) {
  const Function& function = *frame.plan->function;
  const Inst& last = function[function.blocks[inst.blocks[0]].insts.back()];
  const Mask outer_broke = frame.broke;
  const Mask outer_continued = frame.continued;
  frame.broke = 0;
  Mask active = mask;
  while (active != 0) {
    step(frame, inst.span);
    run_block(frame, inst.blocks[0], active);
    active = true_lanes(reg(frame, function.arg(last, 0)), active);
    frame.continued = 0;
    if (active != 0) active = run_block(frame, inst.blocks[1], active) | frame.continued;
  }
  frame.broke = outer_broke;
  frame.continued = outer_continued;
  return mask & ~frame.returned;
}

void Machine::run_cond(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  const Mask taken = true_lanes(reg(frame, function.arg(inst, 0)), mask);
  const Mask masks[2] = {taken, mask & ~taken};
  for (int i = 0; i < 2; ++i) {
    if (masks[i] == 0) continue;
    run_block(frame, inst.blocks[i], masks[i]);
    const Inst& last = function[function.blocks[inst.blocks[i]].insts.back()];
    copy(reg(frame, id), reg(frame, function.arg(last, 0)), inst.type, masks[i]);
  }
}

void Machine::run_call(Frame& caller, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *caller.plan->function;
  const auto index = static_cast<std::size_t>(inst.imm);
  Frame& callee = frame(index);
  const bool from_user = !function.helper;
  if (from_user) call_spans_.push_back(inst.span);
  step(caller, inst.span);
  for (std::uint32_t i = 0; i < inst.count; ++i) {
    const ValueId operand = function.arg(inst, i);
    const TypeId type = function[operand].type;
    if (module_.types.is(type, TypeKind::array)) {
      callee.arrays[callee.plan->place[i]] = caller.arrays[caller.plan->place[operand]];
    } else {
      std::memcpy(reg(callee, i), reg(caller, operand), layout(type).bytes);
    }
  }
  callee.returned = callee.broke = callee.continued = 0;
  run_block(callee, 0, mask);
  if (inst.type != kNone) copy(reg(caller, id), callee.result.data(), inst.type, mask);
  if (from_user) call_spans_.pop_back();
}

void Machine::give(Frame& frame, const Inst& inst, Mask mask) {
  const Function& function = *frame.plan->function;
  frame.returned |= mask;
  std::size_t at = 0;
  for (const ValueId operand : function.args(inst)) {
    const TypeId type = function[operand].type;
    copy(frame.result.data() + at, reg(frame, operand), type, mask);
    at += layout(type).bytes;
  }
}

}  // namespace causeway::lang::interpret
