// Compares the arrays that two backends wrote.
#pragma once

#include "causeway/pairs/inputs.h"
#include "causeway/pairs/verify.h"

#include <string>

namespace causeway::pairs {

// Where `found` differs from the interpreter's `expected` by more than the tolerance class allows,
// such as "y[3]: expected 0.5, got 0.25"; empty where they agree. `exact` compares bits, except the
// sign of zero. Otherwise the difference is relative to the value, or to 1% of the array's largest
// where that is more; the limit is 1e-8, 1e-3 or 2e-2 by the coarsest floating-point type of the
// kernel's parameters.
std::string difference(const Program& program, const lang::Module& module,
                       const lang::Function& kernel, const Memory& expected, const Memory& found,
                       Tolerance tolerance);

}  // namespace causeway::pairs
