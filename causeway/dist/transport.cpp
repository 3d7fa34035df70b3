#include "causeway/dist/transport.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::dist {

void Transport::check_waiting(std::chrono::steady_clock::time_point begin,
                              std::chrono::milliseconds limit, const std::string& ranks) const {
  if (interrupted_) {
    fail(ErrorKind::distributed, "exchange",
         "this rank is stopping and no longer waits for the others");
  }
  if (std::chrono::steady_clock::now() - begin < limit) return;
  fail(
      ErrorKind::distributed, "exchange",
      fmt::format("rank {} waited {:g} s for {}, which may hang or compute something else: see its "
                  "output, or increase CAUSEWAY_DIST_TIMEOUT",
                  rank_, std::chrono::duration<double>(limit).count(), ranks));
}

}  // namespace causeway::dist
