// Functions without break, continue and return in the middle: the form that can be reversed.
#pragma once

#include "causeway/lang/ir/ir.h"

namespace causeway::lang {

// Rewrites the function so that return is only at the end of the body, continue nowhere, and
// break only as the last statement of a loop's body, under a flag.
void normalize_exits(Module& module, Function& function);

}  // namespace causeway::lang
