#include "causeway/lang/ir/ops.h"

#include <iterator>

namespace causeway::lang {

bool find_op(std::string_view name, Op& op) {
  for (std::size_t i = 0; i < std::size(kOpInfos); ++i) {
    if (kOpInfos[i].name == name) {
      op = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

}  // namespace causeway::lang
