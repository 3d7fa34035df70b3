#include "causeway/lang/adjoint/adjoint.h"

#include "causeway/core/error.h"
#include "causeway/lang/adjoint/reverse.h"
#include "causeway/lang/passes/clone.h"
#include "causeway/lang/passes/exits.h"
#include "causeway/lang/passes/passes.h"

#include <algorithm>

namespace causeway::lang {

int add_adjoint(Module& module, int kernel) {
  if (kernel < 0 || kernel >= static_cast<int>(module.functions.size()) ||
      module.functions[static_cast<std::size_t>(kernel)].kind != FunctionKind::kernel) {
    fail(ErrorKind::invalid_argument, "lang.adjoint", "there is no such kernel in the module");
  }
  Function forward = module.functions[static_cast<std::size_t>(kernel)];
  const std::string name = "adj_" + std::string(forward.name);
  // Calls that write, or read arrays that are written, are inlined, so that the backward pass sees
  // every store.
  std::vector<bool> written(forward.insts.size());
  for (const Inst& inst : forward.insts) {
    if (inst.op == Op::store || is_atomic(inst.op)) written[forward.arg(inst, 0)] = true;
    if (inst.op == Op::call && module.functions[static_cast<std::size_t>(inst.imm)].effects) {
      for (const ValueId operand : forward.args(inst)) written[operand] = true;
    }
  }
  std::vector<bool> wanted(module.functions.size());
  for (const Inst& inst : forward.insts) {
    if (inst.op != Op::call) continue;
    const auto callee = static_cast<std::size_t>(inst.imm);
    bool reads_written = module.functions[callee].effects;
    for (const ValueId operand : forward.args(inst)) {
      if (!module.types.is(forward[operand].type, TypeKind::array)) continue;
      reads_written = reads_written || written[operand] || forward[operand].op == Op::view;
    }
    if (reads_written) wanted[callee] = true;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = wanted[i] || module.functions[i].effects;
  if (std::find(wanted.begin(), wanted.end(), true) != wanted.end())
    inline_calls(module, forward, wanted);
  normalize_exits(module, forward);
  optimize(module, forward);
  merge_common(module, forward, true);
  Function made = adjoint::Reverse(module, std::move(forward)).run(name);
  module.functions.push_back(std::move(made));
  return static_cast<int>(module.functions.size() - 1);
}

namespace adjoint {

int adjoint_of(Module& module, int callee) {
  const std::string name =
      "adj_" + std::string(module.functions[static_cast<std::size_t>(callee)].name);
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Function& candidate = module.functions[i];
    if (candidate.kind == FunctionKind::function && candidate.name == name &&
        candidate.span.begin == static_cast<std::uint32_t>(callee) && candidate.span.end == 0) {
      return static_cast<int>(i);
    }
  }
  Function forward = module.functions[static_cast<std::size_t>(callee)];
  normalize_exits(module, forward);
  optimize(module, forward);
  merge_common(module, forward, true);
  Function made = Reverse(module, std::move(forward)).run(name);
  made.helper = module.functions[static_cast<std::size_t>(callee)].helper;
  made.span = {static_cast<std::uint32_t>(callee), 0};  // which function it belongs to
  module.functions.push_back(std::move(made));
  return static_cast<int>(module.functions.size() - 1);
}

void Reverse::add_parameters() {
  const TypeTable& types = module_.types;
  const bool kernel = w_.kind == FunctionKind::kernel;
  out_.params.reserve(2 * w_.params.size() + 1);
  for (ValueId i = 0; i < w_.params.size(); ++i) {
    Param param = w_.params[i];
    if (types.is(param.type, TypeKind::array) && written_[i]) {
      param.content = min_max_[i] && !loaded_[i] ? ArrayContent::after
                      : loaded_[i]               ? ArrayContent::scratch
                                                 : ArrayContent::before;
    }
    forward_[i] = b_.param(param);
  }
  gradient_params_.assign(w_.params.size(), kAbsent);
  for (ValueId i = 0; i < w_.params.size(); ++i) {
    const Param param = w_.params[i];
    const bool array = types.is(param.type, TypeKind::array);
    if (!types.has_float(param.type) || (!array && !kernel)) continue;
    const TypeId type = array ? param.type : module_.types.array(param.type, 1);
    const std::string name = "adj_" + std::string(param.name);
    gradient_params_[i] = b_.param(
        {module_.keep(name), type, ParamRole::gradient, param.argument, ArrayContent::before});
  }
}

Function Reverse::run(std::string name) {
  out_.name = module_.keep(std::move(name));
  out_.kind = w_.kind;
  out_.dims = w_.dims;
  out_.span = w_.span;
  out_.insts.reserve(4 * w_.insts.size());
  out_.operands.reserve(4 * w_.operands.size());
  add_parameters();
  std::vector<std::pair<ValueId, TypeId>> results;
  const TypeTable& types = module_.types;
  if (w_.result != kNone) {
    const std::vector<TypeId> members = types.is(w_.result, TypeKind::tuple)
                                            ? types.members(w_.result)
                                            : std::vector<TypeId>{w_.result};
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string label =
          members.size() == 1 ? "adj_result" : "adj_result" + std::to_string(i);
      results.emplace_back(
          b_.param({module_.keep(label), members[i], ParamRole::gradient, 0, ArrayContent::before}),
          members[i]);
    }
  }
  out_.blocks.emplace_back();
  prologue_ = b_.new_block();
  forward_block_ = b_.new_block();
  const BlockId backward = b_.new_block();
  clone_forward(0, forward_block_);
  b_.set_block(backward);
  // The function's return contributes its results' gradients.
  const auto& insts = w_.blocks[0].insts;
  declare_gradients(0);
  if (!insts.empty() && w_[insts.back()].op == Op::give) {
    const Inst& last = w_[insts.back()];
    for (std::uint32_t i = 0; i < last.count; ++i) contribute(w_.arg(last, i), results[i].first);
  }
  reverse_block(0, backward);
  give_gradients(backward);
  insert_saves();
  auto& body = out_.blocks[0].insts;
  body = out_.blocks[prologue_].insts;
  const auto append = [&](BlockId block) {
    body.insert(body.end(), out_.blocks[block].insts.begin(), out_.blocks[block].insts.end());
    out_.blocks[block].insts.clear();
  };
  append(forward_block_);
  out_.blocks[prologue_].insts.clear();
  if (uses_tape_ && w_.kind == FunctionKind::kernel) {
    b_.set_block(0);
    b_.emit(Op::tape_check, kNone, {});
  }
  append(backward);
  for (const Inst& inst : out_.insts) {
    out_.effects =
        out_.effects || inst.op == Op::store || is_atomic(inst.op) || inst.op == Op::push ||
        (inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects);
  }
  forward_variables(out_);
  optimize(module_, out_);
  drop_dead_sets(out_);
  forward_variables(out_);
  drop_dead_code(module_, out_);
  out_.optimized = false;  // changed since
  mark_contents();
  return std::move(out_);
}

// Stores that the adjoint does not need to repeat: to arrays that nothing reads.
bool Reverse::skip_forward(const Inst& inst) const {
  if (inst.op == Op::check || inst.op == Op::print) return true;
  if (inst.op == Op::give) return true;
  if (inst.op != Op::store && !is_atomic(inst.op)) return false;
  ValueId array = w_.arg(inst, 0);
  while (w_[array].op == Op::view) array = w_.arg(w_[array], 0);
  return !loaded_[array];
}

void Reverse::clone_forward(BlockId from, BlockId to) {
  for (const ValueId id : w_.blocks[from].insts) {
    const Inst& inst = w_[id];
    if (skip_forward(inst)) continue;
    b_.set_block(to);
    b_.set_span(inst.span);
    const ValueId copy = b_.detached(inst.op, inst.type, w_.args(inst));
    for (ValueId& operand : out_.args(out_[copy])) operand = forward_[operand];
    forward_[id] = copy;
    out_[copy].imm = inst.imm;
    out_[copy].name = inst.name;
    for (int i = 0; i < 2; ++i) {
      if (inst.blocks[i] == kAbsent) continue;
      const BlockId inner = b_.new_block();
      out_[copy].blocks[i] = inner;
      clone_forward(inst.blocks[i], inner);
    }
    b_.set_block(to);
    b_.append(copy);
  }
}

// Inserts the saves that the backward pass needs into the forward pass: assignments to save
// variables after the values, and pushes at the end of loop bodies.
void Reverse::insert_saves() {
  for (const Save& save : saves_) {
    if (save.variable == kAbsent) continue;
    const ValueId copy = forward_[save.value];
    for (Block& block : out_.blocks) {
      const auto found = std::find(block.insts.begin(), block.insts.end(), copy);
      if (found == block.insts.end()) continue;
      const std::size_t at = static_cast<std::size_t>(found - block.insts.begin()) + 1;
      const auto id = static_cast<BlockId>(&block - out_.blocks.data());
      b_.set_block(id);
      b_.set(save.variable, copy);
      const ValueId set = block.insts.back();
      block.insts.pop_back();
      block.insts.insert(block.insts.begin() + static_cast<std::ptrdiff_t>(at), set);
      break;
    }
  }
  for (const LoopState& loop : loops_) {
    if (loop.saves.empty()) continue;
    const Inst inst = out_[forward_[loop.loop]];
    const BlockId body = inst.blocks[inst.op == Op::loop ? 0 : 1];
    // Before a break at the end.
    std::vector<ValueId> tail;
    auto& insts = out_.blocks[body].insts;
    if (!insts.empty() && out_[insts.back()].op == Op::branch) {
      const auto& taken = out_.blocks[out_[insts.back()].blocks[0]].insts;
      if (!taken.empty() && out_[taken.back()].op == Op::leave) {
        tail.push_back(insts.back());
        insts.pop_back();
      }
    }
    b_.set_block(body);
    for (const std::size_t index : loop.saves) {
      const Save& save = saves_[index];
      const ValueId value = save.variable == kAbsent ? forward_[save.value] : b_.get(save.variable);
      b_.emit(Op::push, kNone, {value});
      uses_tape_ = true;
    }
    auto& after = out_.blocks[body].insts;
    after.insert(after.end(), tail.begin(), tail.end());
    // The reversed body pops them in the opposite order, first of all.
    auto& reversed = out_.blocks[loop.reversed_body].insts;
    std::vector<ValueId> pops;
    for (std::size_t i = loop.saves.size(); i-- > 0;) pops.push_back(saves_[loop.saves[i]].popped);
    reversed.insert(reversed.begin(), pops.begin(), pops.end());
  }
}

void Reverse::give_gradients(BlockId block) {
  b_.set_block(block);
  b_.set_span(w_.span);
  const TypeTable& types = module_.types;
  std::vector<ValueId> values;
  std::vector<TypeId> value_types;
  for (ValueId i = 0; i < w_.params.size(); ++i) {
    const TypeId type = w_.params[i].type;
    if (types.is(type, TypeKind::array) || !types.has_float(type)) continue;
    const ValueId gradient = take(i);
    if (w_.kind == FunctionKind::kernel) {
      if (gradient == kAbsent) continue;
      b_.emit(Op::atomic_add, type, {gradient_params_[i], b_.index(0), gradient});
      continue;
    }
    values.push_back(gradient == kAbsent ? b_.zero(type) : gradient);
    value_types.push_back(type);
  }
  if (w_.kind == FunctionKind::kernel) return;
  out_.result = value_types.empty()       ? kNone
                : value_types.size() == 1 ? value_types[0]
                                          : module_.types.tuple(value_types);
  b_.emit(Op::give, kNone, values);
}

// An array that the adjoint does not write needs no scratch copy.
void Reverse::mark_contents() {
  std::vector<bool> written(out_.params.size());
  std::vector<BlockId> blocks{0};
  while (!blocks.empty()) {
    const BlockId block = blocks.back();
    blocks.pop_back();
    for (const ValueId id : out_.blocks[block].insts) {
      const Inst& inst = out_[id];
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) blocks.push_back(inner);
      }
      if (inst.op != Op::store && !is_atomic(inst.op)) continue;
      ValueId array = out_.arg(inst, 0);
      while (out_[array].op == Op::view) array = out_.arg(out_[array], 0);
      if (array < written.size()) written[array] = true;
    }
  }
  for (std::size_t i = 0; i < out_.params.size(); ++i) {
    if (out_.params[i].content == ArrayContent::scratch && !written[i])
      out_.params[i].content = ArrayContent::before;
  }
}

}  // namespace adjoint
}  // namespace causeway::lang
