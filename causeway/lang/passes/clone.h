// Copies regions of one function into another, or elsewhere in the same one.
#pragma once

#include "causeway/lang/ir/builder.h"

#include <vector>

namespace causeway::lang {

// Copies instructions of `from` to the builder's function. `values` maps values copied before
// (kAbsent: not yet) and is filled; operands that have no copy must not occur.
class Cloner {
 public:
  Cloner(const Function& from, Builder& to, std::vector<ValueId>& values)
      : from_(from), to_(to), values_(values) {}

  // Appends copies of the block's instructions to the builder's current block.
  void block(BlockId id);
  ValueId inst(ValueId id);

 private:
  const Function& from_;
  Builder& to_;
  std::vector<ValueId>& values_;
  std::vector<ValueId> operands_;  // of the copy that is being made
};

}  // namespace causeway::lang
