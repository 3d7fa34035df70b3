#include "causeway/dist/transport.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Transport::check_waiting(Clock::time_point begin, const std::vector<std::size_t>& ranks) {
  if (interrupted_) {
    fail(ErrorKind::distributed, "exchange",
         "this rank is stopping and no longer waits for the others");
  }
  for (const std::size_t r : ranks) check_alive(begin, r);
  if (Clock::now() - begin < timeouts_.collective) return;
  std::string list;
  for (const std::size_t r : ranks) list += (list.empty() ? "rank " : ", ") + std::to_string(r);
  fail(
      ErrorKind::distributed, "exchange",
      fmt::format("rank {} waited {:g} s for {}, which may hang or compute something else: see its "
                  "output, or increase CAUSEWAY_DIST_TIMEOUT",
                  rank_, seconds(timeouts_.collective), list));
}

void Transport::check_alive(Clock::time_point begin, std::size_t r) {
  const auto silence = Clock::now() - std::max(begin, last_heartbeats_[r]);
  if (silence >= timeouts_.alive) {
    fail(ErrorKind::distributed, "group",
         fmt::format("rank {} is lost: no heartbeat for {:g} s; its process may be stopped or "
                     "its machine overloaded: see its output, or increase "
                     "CAUSEWAY_DIST_ALIVE_TIMEOUT",
                     r, seconds(timeouts_.alive)));
  }
  if (silence < timeouts_.alive / 3 || warned_[r]) return;
  warned_[r] = true;
  logger::warn(fmt::format(
      "[group] rank {} has waited {:.0f} s for a heartbeat of rank {}, which may be stopped; "
      "the run ends after {:g} s",
      rank_, seconds(silence), r, seconds(timeouts_.alive)));
}

}  // namespace causeway::dist
