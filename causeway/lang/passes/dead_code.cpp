#include "causeway/lang/passes/passes.h"

namespace causeway::lang {

namespace {

class DeadCode {
 public:
  DeadCode(const Module& module, Function& function)
      : module_(module),
        function_(function),
        values_(function.insts.size()),
        block_owner_(function.blocks.size(), kAbsent) {
    writes_.reserve(8);
    work_.reserve(64);
    for (const Param& param : function.params)
      is_adjoint_ = is_adjoint_ || param.role == ParamRole::gradient;
  }

  void run() {
    index(0);
    while (!work_.empty()) {
      const ValueId id = work_.back();
      work_.pop_back();
      visit(id);
    }
    sweep(0);
  }

 private:
  struct Value {
    bool live = false;
    ValueId owner = kAbsent;       // the instruction whose region an instruction is in
    std::uint32_t position = 0;    // in program order
    ValueId last_set = kAbsent;    // of a variable: its last assignment
    ValueId set_before = kAbsent;  // of an assignment: the one before of the same variable
  };

  void index(BlockId block) {
    for (const ValueId id : function_.blocks[block].insts) {
      const Inst& inst = function_[id];
      values_[id].position = position_++;
      values_[id].owner = block_owner_[block];
      if (is_root(inst)) mark(id);
      if (inst.op == Op::set) {
        ValueId& last = values_[function_.arg(inst, 0)].last_set;
        values_[id].set_before = last;
        last = id;
      }
      if (inst.op == Op::store || is_atomic(inst.op))
        writes_.emplace_back(root(function_.arg(inst, 0)), id);
      for (const BlockId inner : inst.blocks) {
        if (inner == kAbsent) continue;
        block_owner_[inner] = id;
        index(inner);
      }
    }
  }

  ValueId root(ValueId array) const {
    while (function_[array].op == Op::view) array = function_.arg(function_[array], 0);
    return array;
  }

  // Arrays of the forward pass are not results of the adjoint: writes are live only if they are
  // read.
  bool is_scratch(const Inst& inst) const {
    if (!is_adjoint_) return false;
    const ValueId array = root(function_.arg(inst, 0));
    return array < function_.params.size() && function_.params[array].role == ParamRole::argument;
  }

  bool is_root(const Inst& inst) const {
    if ((inst.op == Op::store || is_atomic(inst.op)) && is_scratch(inst)) return false;
    switch (inst.op) {
      case Op::store:
      case Op::check:
      case Op::print:
      case Op::push:
      case Op::pop:
      case Op::tape_check:
      case Op::give: return true;
      case Op::repeat: return !is_adjoint_;  // it may not end
      case Op::call: return module_.functions[static_cast<std::size_t>(inst.imm)].effects;
      default: return is_atomic(inst.op);
    }
  }

  // Whether a write can precede a read: in program order, or in a loop around both.
  bool may_reach(ValueId write, ValueId read) const {
    if (values_[write].position < values_[read].position) return true;
    for (ValueId outer = values_[write].owner; outer != kAbsent; outer = values_[outer].owner) {
      if (function_[outer].op != Op::loop && function_[outer].op != Op::repeat) continue;
      for (ValueId other = values_[read].owner; other != kAbsent; other = values_[other].owner) {
        if (other == outer) return true;
      }
    }
    return false;
  }

  void mark(ValueId id) {
    if (values_[id].live) return;
    values_[id].live = true;
    work_.push_back(id);
  }

  // break and continue belong to the loop around them, and live with it.
  void mark_exits(BlockId block) {
    for (const ValueId id : function_.blocks[block].insts) {
      const Inst& inst = function_[id];
      if (inst.op == Op::leave || inst.op == Op::proceed) mark(id);
      if (inst.op != Op::branch) continue;
      mark_exits(inst.blocks[0]);
      mark_exits(inst.blocks[1]);
    }
  }

  void visit(ValueId id) {
    const Inst& inst = function_[id];
    for (const ValueId operand : function_.args(inst)) mark(operand);
    if (values_[id].owner != kAbsent) mark(values_[id].owner);
    if (inst.op == Op::load || inst.op == Op::call || is_atomic(inst.op)) {
      for (const ValueId operand : function_.args(inst)) {
        if (!module_.types.is(function_[operand].type, TypeKind::array)) continue;
        for (const auto& [array, write] : writes_) {
          if (array == root(operand) && may_reach(write, id)) mark(write);
        }
      }
    }
    if (inst.op == Op::var) {
      for (ValueId set = values_[id].last_set; set != kAbsent; set = values_[set].set_before)
        mark(set);
    }
    if (inst.op == Op::cond || inst.op == Op::repeat) {
      for (const BlockId inner : inst.blocks) {
        const auto& insts = function_.blocks[inner].insts;
        if (!insts.empty() && function_[insts.back()].op == Op::yield) mark(insts.back());
      }
    }
    if (inst.op == Op::loop) mark_exits(inst.blocks[0]);
    if (inst.op == Op::repeat) mark_exits(inst.blocks[1]);
  }

  void sweep(BlockId block) {
    std::vector<ValueId>& insts = function_.blocks[block].insts;
    std::size_t kept = 0;
    for (const ValueId id : insts) {
      if (!values_[id].live) continue;
      insts[kept++] = id;
      for (const BlockId inner : function_[id].blocks) {
        if (inner != kAbsent) sweep(inner);
      }
    }
    insts.resize(kept);
  }

  const Module& module_;
  Function& function_;
  std::vector<Value> values_;
  std::vector<ValueId> block_owner_;
  std::vector<std::pair<ValueId, ValueId>> writes_;  // arrays and their writes
  bool is_adjoint_ = false;
  std::uint32_t position_ = 0;
  std::vector<ValueId> work_;
};

}  // namespace

void drop_dead_code(const Module& module, Function& function) { DeadCode(module, function).run(); }

void optimize(const Module& module, Function& function) {
  if (function.optimized) return;
  function.optimized = true;
  fold_constants(module, function);
  merge_common(module, function);
  drop_dead_code(module, function);
}

}  // namespace causeway::lang
