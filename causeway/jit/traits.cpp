#include "causeway/jit/traits.h"

#include <map>

namespace causeway::jit {

namespace {

using namespace lang;

class Analysis {
 public:
  explicit Analysis(const Module& module) : module_(module) {}

  // Traits of a function whose first launch coordinate is `tid 0`.
  const KernelTraits& of(std::size_t index) {
    const auto found = known_.find(index);
    if (found != known_.end()) return found->second;
    KernelTraits& traits = known_[index];
    const Function& function = module_.functions[index];
    traits.arrays.resize(function.params.size());
    std::vector<const Inst*> live;
    collect(function, 0, live);
    for (const Inst* inst : live) add(function, *inst, traits);
    traits.n_instructions += live.size();
    traits.independent = is_independent(function, live, traits);
    return traits;
  }

 private:
  // The instructions of a block and of the blocks inside it: passes leave others behind.
  static void collect(const Function& function, BlockId block, std::vector<const Inst*>& live) {
    for (const ValueId id : function.blocks[block].insts) {
      live.push_back(&function[id]);
      for (const BlockId inner : function[id].blocks) {
        if (inner != kAbsent) collect(function, inner, live);
      }
    }
  }

  static ValueId root(const Function& function, ValueId array) {
    while (function[array].op == Op::view) array = function.arg(function[array], 0);
    return array;
  }

  bool is_used(const Function& function, const Inst& inst) const {
    const auto id = static_cast<ValueId>(&inst - function.insts.data());
    for (const ValueId operand : function.operands) {
      if (operand == id) return true;
    }
    return false;
  }

  void add(const Function& function, const Inst& inst, KernelTraits& traits) {
    if (inst.op >= Op::block_sum && inst.op <= Op::block_max) traits.uses_blocks = true;
    if (inst.op == Op::loop || inst.op == Op::repeat) traits.has_loops = true;
    if (inst.op == Op::print) traits.prints = true;
    if (inst.op == Op::push || inst.op == Op::pop) traits.uses_tape = true;
    if (inst.op == Op::call) return add_call(function, inst, traits);
    const bool access = inst.op == Op::load || inst.op == Op::store || is_atomic(inst.op);
    if (!access) return;
    ArrayUse& use = traits.arrays[root(function, function.arg(inst, 0))];
    if (inst.op == Op::load) use.read = true;
    if (inst.op == Op::store) use.stored = true;
    if (!is_atomic(inst.op)) return;
    const bool sum = inst.op == Op::atomic_add || inst.op == Op::atomic_sub;
    (sum ? use.accumulated : use.exchanged) = true;
    if (is_used(function, inst)) use.read = true;
  }

  void add_call(const Function& function, const Inst& inst, KernelTraits& traits) {
    const KernelTraits callee = of(static_cast<std::size_t>(inst.imm));
    traits.uses_blocks = traits.uses_blocks || callee.uses_blocks;
    traits.has_loops = traits.has_loops || callee.has_loops;
    traits.uses_tape = traits.uses_tape || callee.uses_tape;
    traits.prints = traits.prints || callee.prints;
    traits.n_instructions += callee.n_instructions;
    for (std::uint32_t i = 0; i < inst.count; ++i) {
      const ValueId operand = function.arg(inst, i);
      if (!module_.types.is(function[operand].type, TypeKind::array)) continue;
      ArrayUse& use = traits.arrays[root(function, operand)];
      use.read = use.read || callee.arrays[i].read;
      use.stored = use.stored || callee.arrays[i].stored;
      use.accumulated = use.accumulated || callee.arrays[i].accumulated;
      use.exchanged = use.exchanged || callee.arrays[i].exchanged;
    }
  }

  // Which index of the access is the first launch coordinate; -1 if none is.
  int own_dimension(const Function& function, const Inst& access, std::uint32_t n_indices) const {
    const auto is_own = [&](ValueId index) {
      return function[index].op == Op::tid && function[index].imm == 0;
    };
    int before = 0;  // dimensions that views took off
    const ValueId array = function.arg(access, 0);
    std::vector<const Inst*> views;
    for (ValueId at = array; function[at].op == Op::view; at = function.arg(function[at], 0)) {
      views.insert(views.begin(), &function[at]);
    }
    for (const Inst* view : views) {
      for (std::uint32_t i = 1; i < view->count; ++i, ++before) {
        if (is_own(function.arg(*view, i))) return before;
      }
    }
    for (std::uint32_t i = 1; i <= n_indices; ++i) {
      if (is_own(function.arg(access, i))) return before + static_cast<int>(i) - 1;
    }
    return -1;
  }

  bool is_independent(const Function& function, const std::vector<const Inst*>& live,
                      const KernelTraits& traits) const {
    if (function.kind != FunctionKind::kernel || traits.uses_blocks || traits.prints) return false;
    std::map<ValueId, int> dimensions;  // by array that is written
    for (const Inst* at : live) {
      const Inst& inst = *at;
      if (is_atomic(inst.op)) return false;
      if (inst.op == Op::call) {
        for (const ValueId operand : function.args(inst)) {
          if (!module_.types.is(function[operand].type, TypeKind::array)) continue;
          if (traits.arrays[root(function, operand)].written()) return false;
        }
      }
      if (inst.op != Op::load && inst.op != Op::store) continue;
      const ValueId array = root(function, function.arg(inst, 0));
      if (!traits.arrays[array].written()) continue;
      const std::uint32_t n_indices = inst.count - (inst.op == Op::store ? 2 : 1);
      const int own = own_dimension(function, inst, n_indices);
      if (own < 0 || dimensions.emplace(array, own).first->second != own) return false;
    }
    return true;
  }

  const Module& module_;
  std::map<std::size_t, KernelTraits> known_;
};

}  // namespace

KernelTraits traits_of(const Module& module, int kernel) {
  return Analysis(module).of(static_cast<std::size_t>(kernel));
}

}  // namespace causeway::jit
