// The backward pass of blocks, branches, loops, memory and calls.
#include "causeway/lang/adjoint/reverse.h"

#include <algorithm>

namespace causeway::lang::adjoint {

bool Reverse::active(ValueId id) const {
  const Inst& inst = w_[id];
  return inst.type != kNone && inst.op != Op::constant && inst.op != Op::zero &&
         module_.types.has_float(inst.type) && !module_.types.is(inst.type, TypeKind::array);
}

// Values used by nested regions, and variables, accumulate their adjoint in a variable.
void Reverse::declare_gradients(BlockId from) {
  const auto declare = [&](ValueId id) {
    if (!active(id) || module_.types.is(w_[id].type, TypeKind::tuple)) return;
    Gradient& gradient = gradients_[id];
    gradient = {};
    if (!nested_use_[id] && w_[id].op != Op::var) return;
    const std::string name =
        "adj_" + std::string(w_[id].name.empty() ? std::to_string(id) : std::string(w_[id].name));
    gradient.variable = b_.var(w_[id].type, module_.keep(name));
    clear(id);
  };
  if (from == 0) {
    for (ValueId i = 0; i < w_.params.size(); ++i) declare(i);
  }
  for (const ValueId id : w_.blocks[from].insts) declare(id);
}

void Reverse::clear(ValueId id) {
  b_.set(gradients_[id].variable, b_.zero(w_[id].type));
  gradients_[id].zero_epoch = epoch_;
}

void Reverse::contribute(ValueId id, ValueId amount) {
  if (!active(id)) return;
  Gradient& gradient = gradients_[id];
  if (gradient.variable != kAbsent && gradient.zero_epoch == epoch_) {
    b_.set(gradient.variable, amount);
    gradient.zero_epoch = 0;
    return;
  }
  if (gradient.variable != kAbsent) {
    b_.set(gradient.variable, add(b_.get(gradient.variable), amount));
    return;
  }
  gradient.whole = gradient.whole == kAbsent ? amount : add(gradient.whole, amount);
}

void Reverse::contribute_part(ValueId id, std::int64_t part, ValueId amount) {
  if (!active(id)) return;
  Gradient& gradient = gradients_[id];
  const TypeTable& types = module_.types;
  const TypeId type = w_[id].type;
  const bool structure = types.is(type, TypeKind::structure);
  if (gradient.variable != kAbsent) {
    gradient.zero_epoch = 0;
    const ValueId old = b_.get(gradient.variable);
    ValueId changed = kAbsent;
    if (structure) {
      const ValueId sum = add(b_.field(old, static_cast<std::uint32_t>(part)), amount);
      changed = b_.emit(Op::insert_field, type, {old, sum}, part);
    } else {
      const ValueId sum = add(b_.extract(old, part), amount);
      const std::int64_t cols = types[type].cols;
      changed =
          types.is(type, TypeKind::mat)
              ? b_.emit(Op::insert, type, {old, b_.index(part / cols), b_.index(part % cols), sum})
              : b_.emit(Op::insert, type, {old, b_.index(part), sum});
    }
    b_.set(gradient.variable, changed);
    return;
  }
  const std::size_t n =
      structure ? types.structure(type).fields.size() : static_cast<std::size_t>(types.count(type));
  gradient.parts.resize(n, kAbsent);
  ValueId& target = gradient.parts[static_cast<std::size_t>(part)];
  target = target == kAbsent ? amount : add(target, amount);
}

ValueId Reverse::current(ValueId id) {
  Gradient& gradient = gradients_[id];
  if (gradient.variable != kAbsent) return b_.get(gradient.variable);
  const TypeTable& types = module_.types;
  const TypeId type = w_[id].type;
  if (!gradient.parts.empty()) {
    std::vector<ValueId> parts = gradient.parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] != kAbsent) continue;
      const TypeId part = types.is(type, TypeKind::structure) ? types.structure(type).fields[i].type
                                                              : scalar_type(types[type].scalar);
      parts[i] = b_.zero(part);
    }
    const ValueId made = b_.emit(Op::make, type, parts);
    gradient.whole = gradient.whole == kAbsent ? made : add(gradient.whole, made);
    gradient.parts.clear();
  }
  return gradient.whole;
}

ValueId Reverse::take(ValueId id) {
  if (!active(id)) return kAbsent;
  return current(id);
}

// `to` holds the code for the reversed block, into which the builder writes.
void Reverse::reverse_block(BlockId from, BlockId to) {
  b_.set_block(to);
  const std::size_t scope = memo_.size();
  const std::vector<ValueId>& insts = w_.blocks[from].insts;
  for (std::size_t i = insts.size(); i-- > 0;) {
    b_.set_span(w_[insts[i]].span);
    reverse_inst(insts[i]);
  }
  memo_.resize(scope);
}

void Reverse::reverse_inst(ValueId id) {
  const Inst& inst = w_[id];
  switch (inst.op) {
    case Op::branch: return reverse_branch(inst);
    case Op::loop:
    case Op::repeat: return reverse_loop(inst, id);
    case Op::call: return reverse_call(inst, id);
    case Op::set: {
      const ValueId var = w_.arg(inst, 0);
      if (!active(var)) return;
      const ValueId gradient = b_.get(gradients_[var].variable);
      const ValueId value = w_.arg(inst, 1);
      // The variable's adjoint must be read before it is cleared, also where the value is a
      // component of the variable itself.
      clear(var);
      contribute(value, gradient);
      return;
    }
    case Op::load:
    case Op::store: return reverse_memory(inst, id);
    case Op::var:
    case Op::give:
    case Op::yield:
    case Op::leave: return;
    default: break;
  }
  if (is_atomic(inst.op)) return reverse_memory(inst, id);
  if (!active(id)) return;
  const ValueId adjoint = take(id);
  if (adjoint == kAbsent) return;
  if (inst.op == Op::get) return contribute(w_.arg(inst, 0), adjoint);
  if (inst.op == Op::cond) return reverse_cond(inst, adjoint);
  if (inst.op == Op::result) return reverse_result(inst, adjoint);
  apply_rule(inst, id, adjoint);
}

void Reverse::reverse_branch(const Inst& inst) {
  const auto& taken = w_.blocks[inst.blocks[0]].insts;
  if (!taken.empty() && w_[taken.back()].op == Op::leave) return;  // a counted loop's break
  const ValueId condition = primal(w_.arg(inst, 0));
  const BlockId here = b_.block();
  BlockId sides[2];
  for (int i = 0; i < 2; ++i) {
    sides[i] = b_.new_block();
    b_.set_block(sides[i]);
    ++epoch_;
    declare_gradients(inst.blocks[i]);
    reverse_block(inst.blocks[i], sides[i]);
  }
  ++epoch_;
  b_.set_block(here);
  b_.set_span(inst.span);
  b_.emit(Op::branch, kNone, {condition}, 0, sides[0], sides[1]);
}

void Reverse::reverse_cond(const Inst& inst, ValueId adjoint) {
  const ValueId condition = primal(w_.arg(inst, 0));
  const BlockId here = b_.block();
  BlockId sides[2];
  for (int i = 0; i < 2; ++i) {
    sides[i] = b_.new_block();
    b_.set_block(sides[i]);
    ++epoch_;
    declare_gradients(inst.blocks[i]);
    const auto& insts = w_.blocks[inst.blocks[i]].insts;
    contribute(w_.arg(w_[insts.back()], 0), adjoint);
    reverse_block(inst.blocks[i], sides[i]);
  }
  ++epoch_;
  b_.set_block(here);
  b_.emit(Op::branch, kNone, {condition}, 0, sides[0], sides[1]);
}

// The iterations from the last to the first.
void Reverse::reverse_loop(const Inst& inst, ValueId id) {
  const bool ranged = inst.op == Op::loop;
  const BlockId here = b_.block();
  ValueId bounds[3];
  if (trips_[id] != kAbsent) {
    const ValueId trips = primal(trips_[id]);
    bounds[0] = b_.binary(Op::sub, trips, b_.index(1));
    bounds[1] = b_.index(-1);
    bounds[2] = b_.index(-1);
  } else {
    const ValueId start = primal(w_.arg(inst, 0));
    const ValueId stop = primal(w_.arg(inst, 1));
    const ValueId step = primal(w_.arg(inst, 2));
    const Inst& by = w_[w_.arg(inst, 2)];
    if (by.op == Op::constant && by.imm == 1) {
      bounds[0] = b_.binary(Op::sub, stop, b_.index(1));
    } else {
      // start + (n - 1) * step, with n iterations.
      const ValueId one = b_.index(1);
      const ValueId positive = b_.compare(Op::gt, step, b_.index(0));
      const ValueId toward = b_.emit(Op::select, kI32, {positive, one, b_.index(-1)});
      const ValueId distance =
          b_.binary(Op::sub, b_.binary(Op::add, b_.binary(Op::sub, stop, start), step), toward);
      const ValueId n = b_.binary(Op::max, b_.binary(Op::div, distance, step), b_.index(0));
      bounds[0] = b_.binary(Op::add, start, b_.binary(Op::mul, b_.binary(Op::sub, n, one), step));
    }
    bounds[1] = b_.binary(Op::sub, start, step);
    bounds[2] = b_.unary(Op::neg, step);
  }
  const ValueId loop = b_.detached(Op::loop, kI32, bounds);
  const BlockId body = b_.new_block();
  out_[loop].blocks[0] = body;
  out_[loop].name = ranged ? inst.name : module_.keep("iteration");
  LoopState state;
  state.loop = id;
  state.reversed_body = body;
  state.index = loop;
  b_.set_block(body);
  if (ranged && trips_[id] != kAbsent) {
    const ValueId start = primal(w_.arg(inst, 0));
    const ValueId step = primal(w_.arg(inst, 2));
    state.index = b_.binary(Op::add, start, b_.binary(Op::mul, loop, step));
    out_[loop].name = module_.keep("iteration");
  }
  loops_.push_back(state);
  const BlockId from = inst.blocks[ranged ? 0 : 1];
  const std::size_t scope = memo_.size();
  ++epoch_;
  declare_gradients(from);
  reverse_block(from, body);
  ++epoch_;
  memo_.resize(scope);
  b_.set_block(here);
  b_.set_span(inst.span);
  b_.append(loop);
}

ValueId Reverse::gradient_array(ValueId array) {
  const Inst& inst = w_[array];
  if (inst.op == Op::param) return gradient_params_[array];
  std::vector<ValueId> operands{gradient_array(w_.arg(inst, 0))};
  for (std::uint32_t i = 1; i < inst.count; ++i) operands.push_back(primal(w_.arg(inst, i)));
  return b_.emit(Op::view, inst.type, operands);
}

void Reverse::reverse_memory(const Inst& inst, ValueId id) {
  const ValueId array = w_.arg(inst, 0);
  const TypeId element = module_.types[w_[array].type].element;
  if (!module_.types.has_float(element)) return;
  ValueId root = array;
  while (w_[root].op == Op::view) root = w_.arg(w_[root], 0);
  const std::uint32_t n_values = inst.op == Op::load ? 0 : inst.op == Op::atomic_cas ? 2 : 1;
  const ValueId own = inst.op == Op::store ? kAbsent : take(id);
  if (inst.op == Op::load && own == kAbsent) return;
  std::vector<ValueId> place;
  place.reserve(inst.count + 1);
  place.push_back(gradient_array(array));
  for (std::uint32_t i = 1; i + n_values < inst.count; ++i)
    place.push_back(primal(w_.arg(inst, i)));
  const auto emit_with = [&](Op op, TypeId type, ValueId value) {
    place.push_back(value);
    b_.emit(op, type, place);
    place.pop_back();
  };
  const auto add_own = [&] {
    if (own != kAbsent) emit_with(Op::atomic_add, element, own);
  };
  if (inst.op == Op::load) return add_own();
  if (inst.op == Op::atomic_cas) return;
  const ValueId value = w_.arg(inst, inst.count - 1);
  const ValueId gradient = b_.emit(Op::load, element, place);
  switch (inst.op) {
    case Op::store:
    case Op::atomic_exch:
      contribute(value, gradient);
      if (loaded_[root] || n_stores_[root] > 1) emit_with(Op::store, kNone, b_.zero(element));
      return add_own();
    case Op::atomic_add: contribute(value, gradient); break;
    case Op::atomic_sub: contribute(value, b_.unary(Op::neg, gradient)); break;
    case Op::atomic_min:
    case Op::atomic_max: {
      std::vector<ValueId> operands = place;
      operands[0] = forward_[array];
      const ValueId extreme = b_.emit(Op::load, element, operands);
      const ValueId mine = primal(value);
      if (module_.types.is_scalar(element)) {
        contribute(value, b_.emit(Op::select, element,
                                  {b_.compare(Op::eq, mine, extreme), gradient, b_.zero(element)}));
      } else {
        const TypeId scalar = scalar_type(module_.types[element].scalar);
        for (int i = 0; i < module_.types.count(element); ++i) {
          const ValueId same = b_.compare(Op::eq, b_.extract(mine, i), b_.extract(extreme, i));
          contribute_part(
              value, i,
              b_.emit(Op::select, scalar, {same, b_.extract(gradient, i), b_.zero(scalar)}));
        }
      }
      break;
    }
    default: return;
  }
  add_own();
}

void Reverse::reverse_result(const Inst& inst, ValueId adjoint) {
  auto& results = call_gradients_[w_.arg(inst, 0)];
  if (results.size() <= static_cast<std::size_t>(inst.imm))
    results.resize(static_cast<std::size_t>(inst.imm) + 1);
  results[static_cast<std::size_t>(inst.imm)].whole = adjoint;
}

// Calls of functions without effects: the adjoint function repeats the call and reverses it.
void Reverse::reverse_call(const Inst& inst, ValueId id) {
  const int callee = static_cast<int>(inst.imm);
  const TypeTable& types = module_.types;
  const TypeId result = inst.type;
  if (result == kNone) return;
  std::vector<ValueId> gradients;
  if (types.is(result, TypeKind::tuple)) {
    const std::vector<TypeId> members = types.members(result);
    auto& given = call_gradients_[id];
    given.resize(members.size());
    bool any = false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      any = any || given[i].whole != kAbsent;
      gradients.push_back(given[i].whole);
    }
    if (!any) return;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (gradients[i] == kAbsent) gradients[i] = b_.zero(members[i]);
    }
    given.clear();
  } else {
    const ValueId own = take(id);
    if (own == kAbsent) return;
    gradients.push_back(own);
  }
  std::vector<ValueId> operands;
  std::vector<ValueId> targets;
  bool arrays = false;
  for (const ValueId operand : w_.args(inst)) {
    const TypeId type = w_[operand].type;
    if (types.is(type, TypeKind::array)) {
      operands.push_back(forward_[operand]);
      arrays = arrays || types.has_float(type);
    } else {
      operands.push_back(primal(operand));
      if (types.has_float(type)) targets.push_back(operand);
    }
  }
  if (targets.empty() && !arrays) return;
  for (const ValueId operand : w_.args(inst)) {
    const TypeId type = w_[operand].type;
    if (types.is(type, TypeKind::array) && types.has_float(type))
      operands.push_back(gradient_array(operand));
  }
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  const int index = adjoint_of(module_, callee);
  const TypeId type = module_.functions[static_cast<std::size_t>(index)].result;
  b_.set_span(inst.span);
  const ValueId call = b_.emit(Op::call, type, operands, index);
  if (targets.size() == 1) return contribute(targets[0], call);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    contribute(targets[i],
               b_.emit(Op::result, w_[targets[i]].type, {call}, static_cast<std::int64_t>(i)));
  }
}

}  // namespace causeway::lang::adjoint
