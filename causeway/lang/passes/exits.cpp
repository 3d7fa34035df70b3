#include "causeway/lang/passes/exits.h"

#include "causeway/lang/ir/builder.h"

namespace causeway::lang {

namespace {

// How control may leave a block other than at its end.
struct Exits {
  bool always = false;
  bool sometimes =
      false;  // by continue, break or return: the rest of the surrounding blocks is skipped
  bool returns = false;
  bool leaves = false;
};

class ExitNormalizer {
 public:
  ExitNormalizer(Module& module, Function& function)
      : module_(module), function_(function), b_(module, function) {}

  void run() {
    std::vector<ValueId> prologue;
    if (has_early_exit(0, true)) {
      function_.optimized = false;
      const std::vector<ValueId> body = std::move(function_.blocks[0].insts);
      function_.blocks[0].insts.clear();
      done_ = flag("done");
      if (function_.result != kNone) declare_results();
      prologue = std::move(function_.blocks[0].insts);
      function_.blocks[0].insts = body;
      block(0);
      b_.set_block(0);
      give_results();
      auto& insts = function_.blocks[0].insts;
      insts.insert(insts.begin(), prologue.begin(), prologue.end());
    }
  }

 private:
  bool has_early_exit(BlockId block, bool top) const {
    const auto& insts = function_.blocks[block].insts;
    for (std::size_t i = 0; i < insts.size(); ++i) {
      const Inst& inst = function_[insts[i]];
      const bool last = top && i + 1 == insts.size();
      if (inst.op == Op::leave || inst.op == Op::proceed || (inst.op == Op::give && !last))
        return true;
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent && has_early_exit(inner, false)) return true;
      }
    }
    return false;
  }

  ValueId flag(std::string_view name) {
    const ValueId var = b_.var(kBool, name);
    b_.set(var, b_.boolean(false));
    return var;
  }

  void declare_results() {
    const TypeTable& types = module_.types;
    const std::vector<TypeId> members = types.is(function_.result, TypeKind::tuple)
                                            ? types.members(function_.result)
                                            : std::vector<TypeId>{function_.result};
    for (const TypeId type : members) {
      const ValueId var = b_.var(type, "result");
      b_.set(var, b_.zero(type));
      results_.push_back(var);
    }
  }

  void give_results() {
    std::vector<ValueId> values;
    for (const ValueId var : results_) values.push_back(b_.get(var));
    if (function_.kind != FunctionKind::kernel) b_.emit(Op::give, kNone, values);
  }

  // Sets the flag that skips the rest.
  void raise(const Inst& inst) {
    if (inst.op == Op::give) {
      for (std::uint32_t i = 0; i < inst.count; ++i) b_.set(results_[i], function_.arg(inst, i));
      b_.set(done_, b_.boolean(true));
    }
    if (inst.op != Op::proceed) {
      // A return leaves all loops, a break the innermost.
      for (std::size_t i = inst.op == Op::give ? 0 : stops_.size() - 1; i < stops_.size(); ++i)
        b_.set(stops_[i], b_.boolean(true));
    }
    for (std::size_t i = inst.op == Op::give ? 0 : skips_.size() - 1; i < skips_.size(); ++i)
      b_.set(skips_[i], b_.boolean(true));
  }

  Exits block(BlockId id) {
    const std::vector<ValueId> insts = std::move(function_.blocks[id].insts);
    function_.blocks[id].insts.clear();
    b_.set_block(id);
    return rest(id, insts, 0);
  }

  Exits rest(BlockId id, const std::vector<ValueId>& insts, std::size_t from) {
    Exits total;
    for (std::size_t i = from; i < insts.size(); ++i) {
      const Inst inst = function_[insts[i]];
      b_.set_block(id);
      b_.set_span(inst.span);
      if (inst.op == Op::give || inst.op == Op::leave || inst.op == Op::proceed) {
        raise(inst);
        total.always = total.sometimes = true;
        total.returns = total.returns || inst.op == Op::give;
        total.leaves = total.leaves || inst.op != Op::proceed;
        return total;
      }
      Exits inner;
      if (inst.op == Op::branch) {
        const Exits yes = block(inst.blocks[0]);
        const Exits no = block(inst.blocks[1]);
        function_.blocks[id].insts.push_back(insts[i]);
        inner.sometimes = yes.sometimes || no.sometimes;
        inner.always = yes.always && no.always;
        inner.returns = yes.returns || no.returns;
        inner.leaves = yes.leaves || no.leaves;
        const bool one_side =
            yes.always != no.always && (yes.always ? !no.sometimes : !yes.sometimes);
        if (one_side && i + 1 < insts.size()) {
          // The rest moves to the branch that does not exit.
          const BlockId other = inst.blocks[yes.always ? 1 : 0];
          b_.set_block(other);
          const Exits after = rest(other, insts, i + 1);
          total.sometimes = true;
          total.always = after.always;
          total.returns = total.returns || inner.returns || after.returns;
          total.leaves = total.leaves || inner.leaves || after.leaves;
          return total;
        }
      } else if (inst.op == Op::loop || inst.op == Op::repeat) {
        inner = loop(id, insts[i]);
      } else {
        function_.blocks[id].insts.push_back(insts[i]);
      }
      total.sometimes = total.sometimes || inner.sometimes;
      total.returns = total.returns || inner.returns;
      total.leaves = total.leaves || inner.leaves;
      if (inner.always) {
        total.always = true;
        return total;
      }
      if (!inner.sometimes || i + 1 == insts.size()) continue;
      b_.set_block(id);
      const ValueId skip = skips_.empty() ? done_ : skips_.back();
      const ValueId skipped = b_.get(skip);
      const BlockId guarded = b_.new_block();
      const BlockId nothing = b_.new_block();
      b_.emit(Op::branch, kNone, {skipped}, 0, nothing, guarded);
      b_.set_block(guarded);
      const Exits after = rest(guarded, insts, i + 1);
      total.returns = total.returns || after.returns;
      total.leaves = total.leaves || after.leaves;
      return total;
    }
    return total;
  }

  Exits loop(BlockId id, ValueId loop_id) {
    const Inst inst = function_[loop_id];
    const BlockId body = inst.blocks[inst.op == Op::loop ? 0 : 1];
    b_.set_block(id);
    const ValueId stop = flag("stop");
    stops_.push_back(stop);
    // The flag that skips the rest of an iteration starts anew with each.
    std::vector<ValueId> insts = std::move(function_.blocks[body].insts);
    function_.blocks[body].insts.clear();
    b_.set_block(body);
    skips_.push_back(flag("skip"));
    const Exits inner = rest(body, insts, 0);
    skips_.pop_back();
    stops_.pop_back();
    if (inner.leaves) {
      b_.set_block(body);
      const ValueId stopped = b_.get(stop);
      const BlockId yes = b_.new_block();
      const BlockId no = b_.new_block();
      b_.emit(Op::branch, kNone, {stopped}, 0, yes, no);
      b_.set_block(yes);
      b_.emit(Op::leave, kNone, {});
    }
    function_.blocks[id].insts.push_back(loop_id);
    Exits exits;
    exits.sometimes = inner.returns;
    exits.returns = inner.returns;
    exits.leaves = inner.returns;
    return exits;
  }

  Module& module_;
  Function& function_;
  Builder b_;
  ValueId done_ = kAbsent;
  std::vector<ValueId> results_;
  std::vector<ValueId> stops_;  // one a loop around
  std::vector<ValueId> skips_;
};

}  // namespace

void normalize_exits(Module& module, Function& function) { ExitNormalizer(module, function).run(); }

}  // namespace causeway::lang
