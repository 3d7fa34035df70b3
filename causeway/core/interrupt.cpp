#include "causeway/core/interrupt.h"

#include "causeway/core/error.h"

namespace causeway::internal {

void throw_interrupted() { fail(ErrorKind::interrupted, "interrupt", "interrupted by the user"); }

}  // namespace causeway::internal
