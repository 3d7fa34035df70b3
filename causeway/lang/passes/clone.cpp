#include "causeway/lang/passes/clone.h"

namespace causeway::lang {

void Cloner::block(BlockId id) {
  // By index: `from` and `to` may be one function, whose pools grow.
  const std::size_t n = from_.blocks[id].insts.size();
  for (std::size_t i = 0; i < n; ++i) inst(from_.blocks[id].insts[i]);
}

ValueId Cloner::inst(ValueId id) {
  const Inst source = from_[id];
  operands_.clear();
  for (const ValueId operand : from_.args(source)) operands_.push_back(values_[operand]);
  to_.set_span(source.span);
  const BlockId here = to_.block();
  const ValueId copy = to_.detached(source.op, source.type, operands_);
  values_[id] = copy;
  Inst& made = to_.function()[copy];
  made.imm = source.imm;
  made.name = source.name;
  for (int i = 0; i < 2; ++i) {
    if (source.blocks[i] == kAbsent) continue;
    const BlockId inner = to_.new_block();
    to_.function()[copy].blocks[i] = inner;
    to_.set_block(inner);
    block(source.blocks[i]);
    to_.set_block(here);
  }
  to_.append(copy);
  return copy;
}

}  // namespace causeway::lang
