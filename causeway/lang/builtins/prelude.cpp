// Builtins written in the language. A call creates an instance for its types, which is interpreted,
// emitted and differentiated like any function.
#include "causeway/lang/builtins/table.h"

#include "causeway/lang/builtins/prelude_text.h"
#include "causeway/lang/parser.h"

#include <unordered_map>
#include <vector>

namespace causeway::lang {

namespace {

struct Prelude {
  Source source;
  Tree tree;
  std::unordered_map<std::string_view, std::vector<const FunctionNode*>> by_name;

  Prelude()
      : source("prelude", std::string(kScalarMath) + std::string(kVectorMath) +
                              std::string(kQuaternionMath) + std::string(kRandom) +
                              std::string(kNoise)),
        tree(parse(source, true)) {
    for (const FunctionNode& node : tree.functions) by_name[node.name].push_back(&node);
  }
};

const Prelude& parsed_prelude() {
  static const auto* const instance = new Prelude();
  return *instance;
}

}  // namespace

const Source& prelude_source() { return parsed_prelude().source; }
const Tree& prelude_tree() { return parsed_prelude().tree; }

std::span<const FunctionNode* const> prelude_functions(std::string_view name) {
  const auto found = parsed_prelude().by_name.find(name);
  if (found == parsed_prelude().by_name.end()) return {};
  return found->second;
}

}  // namespace causeway::lang
