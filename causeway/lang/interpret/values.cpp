// Instructions that compute values from values.
#include "causeway/lang/interpret/machine.h"

#include "causeway/core/shown.h"

namespace causeway::lang::interpret {

void Machine::copy(std::byte* to, const std::byte* from, TypeId type, Mask mask) {
  for (const RegisterLeaf& leaf : layout(type).leaves) {
    copy_lanes(to + leaf.register_, from + leaf.register_, register_bytes(leaf.scalar), mask);
  }
}

void Machine::execute(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  if (is_compare(inst.op)) return comparison(frame, inst, id);
  if (is_atomic(inst.op)) return atomic(frame, inst, id, mask);
  switch (inst.op) {
    case Op::constant: return constant(frame, inst, id);
    case Op::zero: std::memset(reg(frame, id), 0, layout(inst.type).bytes); return;
    case Op::var: frame.assigned[id] &= ~mask; return;
    case Op::get: {
      const ValueId var = function.arg(inst, 0);
      if (options_.checked && (mask & ~frame.assigned[var]) != 0) {
        fault(
            frame, inst.span,
            {"variable \"" + std::string(function[var].name) + "\" is read before it is assigned"});
      }
      std::memcpy(reg(frame, id), reg(frame, var), layout(inst.type).bytes);
      return;
    }
    case Op::set: {
      const ValueId var = function.arg(inst, 0);
      frame.assigned[var] |= mask;
      return copy(reg(frame, var), reg(frame, function.arg(inst, 1)), function[var].type, mask);
    }
    case Op::select: return select(frame, inst, id);
    case Op::cast:
      return cast_lanes(module_.types[inst.type].scalar,
                        module_.types[type(frame, function.arg(inst, 0))].scalar, reg(frame, id),
                        reg(frame, function.arg(inst, 0)));
    case Op::make: return make(frame, inst, id);
    case Op::extract: return extract(frame, inst, id, mask);
    case Op::insert: return insert(frame, inst, id, mask);
    case Op::field:
    case Op::insert_field: return fields(frame, inst, id);
    case Op::result: return result(frame, inst, id);
    case Op::tid: std::memcpy(reg(frame, id), tid_[inst.imm], sizeof tid_[0]); return;
    case Op::shape: {
      const ArrayRegister& array = frame.arrays[frame.plan->place[function.arg(inst, 0)]];
      auto* out = reinterpret_cast<std::int32_t*>(reg(frame, id));
      for (int i = 0; i < kLanes; ++i)
        out[i] = static_cast<std::int32_t>(array.view->shape[array.first_dim + inst.imm]);
      return;
    }
    case Op::view: return view(frame, inst, id, mask);
    case Op::load: return load(frame, inst, id, mask);
    case Op::store: return store(frame, inst, mask);
    case Op::check: {
      const auto* values = reinterpret_cast<const std::uint8_t*>(reg(frame, function.arg(inst, 0)));
      for_lanes(options_.checked ? mask : 0, [&](int i) {
        if (values[i] == 0)
          fault(frame, inst.span, {"assertion failed", inst.name.empty() ? "" : shown(inst.name)});
      });
      return;
    }
    case Op::block_sum:
    case Op::block_min:
    case Op::block_max: return block_reduce(frame, inst, id, mask);
    case Op::push: return push(frame, inst, mask);
    case Op::pop: return pop(frame, inst, id, mask);
    case Op::print:
    case Op::tape_check: return;
    default: return arithmetic(frame, inst, id, mask);
  }
}

void Machine::constant(Frame& frame, const Inst& inst, ValueId id) {
  const Scalar scalar = module_.types[inst.type].scalar;
  visit(scalar, [&]<class T>(T) {
    const T value = is_float(scalar) ? static_cast<T>(inst.real()) : static_cast<T>(inst.imm);
    auto* out = reinterpret_cast<T*>(reg(frame, id));
    for (int i = 0; i < kLanes; ++i) out[i] = value;
  });
}

// Component by component; a scalar operand is used for each component of a vector.
void Machine::arithmetic(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  const ValueId a = function.arg(inst, 0);
  const Layout& out = layout(inst.type);
  const Layout& first = layout(type(frame, a));
  const std::byte* const x = reg(frame, a);
  std::byte* const r = reg(frame, id);
  if (inst.count == 1) {
    for (std::size_t i = 0; i < out.leaves.size(); ++i) {
      unary_lanes(inst.op, first.leaves[i].scalar, r + out.leaves[i].register_,
                  x + first.leaves[i].register_, mask);
    }
    return;
  }
  const ValueId b = function.arg(inst, 1);
  const Layout& second = layout(type(frame, b));
  const std::byte* const y = reg(frame, b);
  for (std::size_t i = 0; i < out.leaves.size(); ++i) {
    const Scalar scalar = out.leaves[i].scalar;
    const bool divides = (inst.op == Op::div || inst.op == Op::mod) && !is_float(scalar);
    const std::byte* const left = x + first.leaves[first.leaves.size() == 1 ? 0 : i].register_;
    const std::byte* const right = y + second.leaves[second.leaves.size() == 1 ? 0 : i].register_;
    if (divides && options_.checked && zero_lanes(scalar, right, mask) != 0) {
      fault(frame, inst.span, {"integer division by zero"});
    }
    binary_lanes(inst.op, scalar, r + out.leaves[i].register_, left, right, mask);
  }
}

void Machine::comparison(Frame& frame, const Inst& inst, ValueId id) {
  const Function& function = *frame.plan->function;
  const ValueId a = function.arg(inst, 0);
  const Layout& operands = layout(type(frame, a));
  const std::byte* const x = reg(frame, a);
  const std::byte* const y = reg(frame, function.arg(inst, 1));
  std::byte* const r = reg(frame, id);
  compare_lanes(inst.op, operands.leaves[0].scalar, r, x, y);
  std::byte part[kLanes];
  for (std::size_t i = 1; i < operands.leaves.size(); ++i) {
    const std::uint32_t at = operands.leaves[i].register_;
    compare_lanes(inst.op, operands.leaves[i].scalar, part, x + at, y + at);
    for (int k = 0; k < kLanes; ++k) r[k] = inst.op == Op::eq ? r[k] & part[k] : r[k] | part[k];
  }
}

void Machine::select(Frame& frame, const Inst& inst, ValueId id) {
  const Function& function = *frame.plan->function;
  const auto* condition = reinterpret_cast<const std::uint8_t*>(reg(frame, function.arg(inst, 0)));
  Mask taken = 0;
  for (int i = 0; i < kLanes; ++i) taken |= static_cast<Mask>(condition[i] != 0) << i;
  std::memcpy(reg(frame, id), reg(frame, function.arg(inst, 2)), layout(inst.type).bytes);
  copy(reg(frame, id), reg(frame, function.arg(inst, 1)), inst.type, taken);
}

void Machine::make(Frame& frame, const Inst& inst, ValueId id) {
  const Function& function = *frame.plan->function;
  std::byte* to = reg(frame, id);
  for (const ValueId part : function.args(inst)) {
    const std::size_t bytes = layout(function[part].type).bytes;
    std::memcpy(to, reg(frame, part), bytes);
    to += bytes;
  }
}

bool Machine::component(Frame& frame, const Inst& inst, std::uint32_t n_indices, Mask mask,
                        std::int32_t* lanes, std::int32_t& fixed) {
  const Function& function = *frame.plan->function;
  const Type& of = module_.types[type(frame, function.arg(inst, 0))];
  bool varies = false;
  for (std::uint32_t i = 0; i < n_indices; ++i) {
    varies = varies || function[function.arg(inst, 1 + i)].op != Op::constant;
  }
  const bool matrix = of.kind == TypeKind::mat;
  const auto at = [&](int lane) {
    std::int64_t place = 0;
    for (std::uint32_t i = 0; i < n_indices; ++i) {
      const std::int64_t size = i == 0 ? of.rows : of.cols;
      std::int64_t index = index_at(frame, function.arg(inst, 1 + i), lane);
      if (index < 0 || index >= size) {
        if (options_.checked) {
          fault(frame, inst.span,
                {"index is out of range for " +
                     module_.types.name(type(frame, function.arg(inst, 0))),
                 std::to_string(index), "0 to " + std::to_string(size - 1)});
        }
        index = 0;
      }
      place = place * (matrix ? of.cols : 1) + index;
    }
    if (matrix && n_indices == 1) place *= of.cols;
    return static_cast<std::int32_t>(place);
  };
  if (!varies) {
    fixed = at(0);
    return false;
  }
  for_lanes(mask, [&](int lane) { lanes[lane] = at(lane); });
  return true;
}

void Machine::extract(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  const Layout& out = layout(inst.type);
  const std::byte* const whole = reg(frame, function.arg(inst, 0));
  std::int32_t lanes[kLanes];
  std::int32_t fixed = 0;
  const std::size_t size = register_bytes(out.leaves[0].scalar);
  if (!component(frame, inst, inst.count - 1, mask, lanes, fixed)) {
    std::memcpy(reg(frame, id), whole + static_cast<std::size_t>(fixed) * size * kLanes, out.bytes);
    return;
  }
  for (std::size_t leaf = 0; leaf < out.leaves.size(); ++leaf) {
    std::byte* const r = reg(frame, id) + out.leaves[leaf].register_;
    for_lanes(mask, [&](int lane) {
      const std::size_t from =
          (static_cast<std::size_t>(lanes[lane]) + leaf) * kLanes + static_cast<std::size_t>(lane);
      std::memcpy(r + static_cast<std::size_t>(lane) * size, whole + from * size, size);
    });
  }
}

void Machine::insert(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  const ValueId part = function.arg(inst, inst.count - 1);
  const Layout& in = layout(type(frame, part));
  std::byte* const r = reg(frame, id);
  std::memcpy(r, reg(frame, function.arg(inst, 0)), layout(inst.type).bytes);
  std::int32_t lanes[kLanes];
  std::int32_t fixed = 0;
  const std::size_t size = register_bytes(in.leaves[0].scalar);
  if (!component(frame, inst, inst.count - 2, mask, lanes, fixed)) {
    std::memcpy(r + static_cast<std::size_t>(fixed) * size * kLanes, reg(frame, part), in.bytes);
    return;
  }
  for (std::size_t leaf = 0; leaf < in.leaves.size(); ++leaf) {
    const std::byte* const from = reg(frame, part) + in.leaves[leaf].register_;
    for_lanes(mask, [&](int lane) {
      const std::size_t to =
          (static_cast<std::size_t>(lanes[lane]) + leaf) * kLanes + static_cast<std::size_t>(lane);
      std::memcpy(r + to * size, from + static_cast<std::size_t>(lane) * size, size);
    });
  }
}

void Machine::fields(Frame& frame, const Inst& inst, ValueId id) {
  const Function& function = *frame.plan->function;
  const ValueId whole = function.arg(inst, 0);
  const auto& members = module_.types.structure(type(frame, whole)).fields;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < inst.imm; ++i)
    at += layout(members[static_cast<std::size_t>(i)].type).bytes;
  const std::size_t bytes = layout(members[static_cast<std::size_t>(inst.imm)].type).bytes;
  if (inst.op == Op::field) {
    std::memcpy(reg(frame, id), reg(frame, whole) + at, bytes);
    return;
  }
  std::memcpy(reg(frame, id), reg(frame, whole), layout(inst.type).bytes);
  std::memcpy(reg(frame, id) + at, reg(frame, function.arg(inst, 1)), bytes);
}

void Machine::result(Frame& frame, const Inst& inst, ValueId id) {
  const ValueId call = frame.plan->function->arg(inst, 0);
  const auto& members = module_.types.members(type(frame, call));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < inst.imm; ++i)
    at += layout(members[static_cast<std::size_t>(i)]).bytes;
  std::memcpy(reg(frame, id), reg(frame, call) + at, layout(inst.type).bytes);
}

}  // namespace causeway::lang::interpret
