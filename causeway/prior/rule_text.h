// The rule of a dataset of the rules family as text: "parity of x1, x4, x7; 5% random labels".
#pragma once

#include "causeway/prior/device/rules_plan.h"

#include <string>
#include <vector>

namespace causeway::prior {

// `names` are those of the drivers; n_classes is 0 for a numeric target.
std::string rule_text(const RulesPlan& plan, int n_classes, const std::vector<std::string>& names);

}  // namespace causeway::prior
