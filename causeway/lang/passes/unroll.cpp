#include "causeway/lang/passes/clone.h"
#include "causeway/lang/passes/passes.h"

namespace causeway::lang {

namespace {

constexpr std::size_t kMaxUnrolledInsts = 4096;

class Unroller {
 public:
  Unroller(Module& module, Function& function, int limit)
      : function_(function), b_(module, function), limit_(limit) {}

  void block(BlockId id) {
    const std::vector<ValueId> insts = std::move(function_.blocks[id].insts);
    function_.blocks[id].insts.clear();
    for (const ValueId value : insts) {
      const Inst inst = function_[value];
      for (const BlockId inner : inst.blocks) {
        if (inner != kAbsent) block(inner);
      }
      b_.set_block(id);
      std::int64_t trips = 0;
      if (inst.op == Op::loop && count(inst, trips) && trips <= limit_ &&
          !has_exit(inst.blocks[0]) && function_.insts.size() < kMaxUnrolledInsts) {
        expand(inst, value, trips);
      } else {
        b_.append(value);
      }
    }
  }

 private:
  bool count(const Inst& inst, std::int64_t& trips) const {
    for (const ValueId operand : function_.args(inst)) {
      if (function_[operand].op != Op::constant) return false;
    }
    const std::int64_t start = function_[function_.arg(inst, 0)].imm;
    const std::int64_t stop = function_[function_.arg(inst, 1)].imm;
    const std::int64_t step = function_[function_.arg(inst, 2)].imm;
    if (step == 0) return false;
    trips = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    if (trips < 0) trips = 0;
    return true;
  }

  bool has_exit(BlockId id) const {
    for (const ValueId value : function_.blocks[id].insts) {
      const Inst& inst = function_[value];
      if (inst.op == Op::leave || inst.op == Op::proceed) return true;
      if (inst.op == Op::branch && (has_exit(inst.blocks[0]) || has_exit(inst.blocks[1])))
        return true;
    }
    return false;
  }

  void expand(const Inst& inst, ValueId id, std::int64_t trips) {
    function_.optimized = false;
    std::vector<ValueId> values(function_.insts.size());
    for (ValueId i = 0; i < values.size(); ++i) values[i] = i;
    const std::int64_t start = function_[function_.arg(inst, 0)].imm;
    const std::int64_t step = function_[function_.arg(inst, 2)].imm;
    for (std::int64_t i = 0; i < trips; ++i) {
      values[id] = b_.index(start + i * step);
      Cloner(function_, b_, values).block(inst.blocks[0]);
    }
  }

  Function& function_;
  Builder b_;
  int limit_;
};

}  // namespace

void unroll_loops(Module& module, Function& function, int limit) {
  Unroller(module, function, limit).block(0);
}

}  // namespace causeway::lang
