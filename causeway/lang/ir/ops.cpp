#include "causeway/lang/ir/ops.h"

#include <iterator>

namespace causeway::lang {

namespace {

constexpr OpInfo kInfos[] = {
#define CAUSEWAY_LANG_OP(id, name, trait) {name, trait},
    CAUSEWAY_LANG_OPS(CAUSEWAY_LANG_OP)
#undef CAUSEWAY_LANG_OP
};

}  // namespace

const OpInfo& info(Op op) { return kInfos[static_cast<int>(op)]; }

bool find_op(std::string_view name, Op& op) {
  for (std::size_t i = 0; i < std::size(kInfos); ++i) {
    if (kInfos[i].name == name) {
      op = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

}  // namespace causeway::lang
