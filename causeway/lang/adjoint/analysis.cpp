// Analysis of the forward function for the backward pass: blocks of values, arrays written and
// read, trip counts of loops.
#include "causeway/lang/adjoint/reverse.h"

#include <algorithm>

namespace causeway::lang::adjoint {

Reverse::Reverse(Module& module, Function forward)
    : module_(module), w_(std::move(forward)), b_(module, out_) {
  count_trips();
  const std::size_t n = w_.insts.size();
  home_.assign(n, 0);
  position_.assign(n, 0);
  parent_.assign(w_.blocks.size(), kAbsent);
  owner_.assign(w_.blocks.size(), kAbsent);
  nested_use_.assign(n, false);
  forward_.assign(n, kAbsent);
  gradients_.resize(n);
  call_gradients_.resize(n);
  save_of_.assign(n, static_cast<std::size_t>(-1));
  index_blocks(0, kAbsent);
  for (BlockId block = 0; block < w_.blocks.size(); ++block) {
    for (const ValueId id : w_.blocks[block].insts) {
      for (const ValueId operand : w_.args(w_[id])) {
        if (home_[operand] != home_[id]) nested_use_[operand] = true;
      }
    }
  }
  find_arrays();
}

void Reverse::index_blocks(BlockId block, ValueId owner) {
  owner_[block] = owner;
  for (const ValueId id : w_.blocks[block].insts) {
    home_[id] = block;
    position_[id] = ++counter_;
    for (const BlockId inner : w_[id].blocks) {
      if (inner == kAbsent) continue;
      parent_[inner] = block;
      index_blocks(inner, id);
    }
  }
}

void Reverse::find_arrays() {
  written_.assign(w_.insts.size(), false);
  loaded_ = min_max_ = written_;
  n_stores_.assign(w_.insts.size(), 0);
  const auto root = [&](ValueId array) {
    while (w_[array].op == Op::view) array = w_.arg(w_[array], 0);
    return array;
  };
  std::vector<bool> used(w_.insts.size());
  for (const Inst& inst : w_.insts) {
    for (const ValueId operand : w_.args(inst)) used[operand] = true;
  }
  for (BlockId block = 0; block < w_.blocks.size(); ++block) {
    for (const ValueId id : w_.blocks[block].insts) {
      const Inst& inst = w_[id];
      if (inst.op == Op::load) loaded_[root(w_.arg(inst, 0))] = true;
      if (inst.op == Op::call) {
        for (const ValueId operand : w_.args(inst)) {
          if (module_.types.is(w_[operand].type, TypeKind::array)) loaded_[root(operand)] = true;
        }
      }
      if (inst.op != Op::store && !is_atomic(inst.op)) continue;
      const ValueId array = root(w_.arg(inst, 0));
      written_[array] = true;
      n_stores_[array] += loop_around(block) != kAbsent ? 2 : 1;
      if (is_atomic(inst.op) && used[id]) loaded_[array] = true;
      if (inst.op == Op::atomic_min || inst.op == Op::atomic_max) min_max_[array] = true;
    }
  }
}

// While loops and loops with break count their iterations; the count is read after the loop.
void Reverse::count_trips() {
  trips_.assign(w_.insts.size(), kAbsent);
  Builder b(module_, w_);
  const std::size_t n_blocks = w_.blocks.size();
  for (BlockId block = 0; block < n_blocks; ++block) {
    const auto is_loop = [&](ValueId id) {
      return w_[id].op == Op::loop || w_[id].op == Op::repeat;
    };
    const std::vector<ValueId>& whole = w_.blocks[block].insts;
    if (std::none_of(whole.begin(), whole.end(), is_loop)) continue;
    const std::vector<ValueId> insts = whole;
    std::vector<ValueId> done;
    for (const ValueId id : insts) {
      const Inst inst = w_[id];
      const bool repeats = inst.op == Op::repeat;
      bool leaves = false;
      if (inst.op == Op::loop && !w_.blocks[inst.blocks[0]].insts.empty()) {
        const Inst& last = w_[w_.blocks[inst.blocks[0]].insts.back()];
        leaves = last.op == Op::branch && !w_.blocks[last.blocks[0]].insts.empty() &&
                 w_[w_.blocks[last.blocks[0]].insts.back()].op == Op::leave;
      }
      if (!repeats && !leaves) {
        done.push_back(id);
        continue;
      }
      w_.blocks[block].insts.clear();
      b.set_block(block);
      b.set_span(inst.span);
      const ValueId count = b.var(kI32, "trips");
      b.set(count, b.index(0));
      b.append(id);
      const ValueId total = b.get(count);
      trips_.resize(w_.insts.size(), kAbsent);
      trips_[id] = total;
      done.insert(done.end(), w_.blocks[block].insts.begin(), w_.blocks[block].insts.end());
      // At the end of the body, before a break.
      const BlockId body = inst.blocks[repeats ? 1 : 0];
      std::vector<ValueId> before = std::move(w_.blocks[body].insts);
      std::vector<ValueId> tail;
      if (!before.empty()) {
        const Inst& last = w_[before.back()];
        const bool breaks = last.op == Op::branch && !w_.blocks[last.blocks[0]].insts.empty() &&
                            w_[w_.blocks[last.blocks[0]].insts.back()].op == Op::leave;
        if (breaks) {
          tail.push_back(before.back());
          before.pop_back();
        }
      }
      w_.blocks[body].insts = std::move(before);
      b.set_block(body);
      b.set(count, b.binary(Op::add, b.get(count), b.index(1)));
      auto& rest = w_.blocks[body].insts;
      rest.insert(rest.end(), tail.begin(), tail.end());
    }
    w_.blocks[block].insts = done;
  }
  trips_.resize(w_.insts.size(), kAbsent);
}

bool Reverse::is_within(BlockId inner, BlockId outer) const {
  for (; inner != kAbsent; inner = parent_[inner]) {
    if (inner == outer) return true;
  }
  return false;
}

ValueId Reverse::loop_around(BlockId block) const {
  for (; block != kAbsent; block = parent_[block]) {
    const ValueId owner = owner_[block];
    if (owner != kAbsent && (w_[owner].op == Op::loop || w_[owner].op == Op::repeat)) return owner;
  }
  return kAbsent;
}

}  // namespace causeway::lang::adjoint
