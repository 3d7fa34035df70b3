#include "cli/progress.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

namespace causeway::cli {

namespace {

std::string amount(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  std::size_t at = 0;
  while (value >= 1000 && at < 4) {
    value /= 1000;
    ++at;
  }
  return fmt::format("{:.{}f} {}", value, at == 0 ? 0 : 1, kPrefixes[at]);
}

}  // namespace

Progress::Progress(std::string label, std::string unit, double total, bool quiet)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double done) {
  using std::chrono::duration;
  const auto now = Clock::now();
  const double elapsed = duration<double>(now - start_).count();
  const double pause = terminal_ ? 0.1 : 5.0;
  if (quiet_ || elapsed < 2 || (shown_ && duration<double>(now - last_).count() < pause)) return;
  last_ = now;
  shown_ = true;
  const double rate = done / elapsed;
  const double share = total_ > 0 ? std::min(1.0, done / total_) : 0;
  const std::string left =
      total_ > 0 && rate > 0 ? fmt::format(", {:.0f} s left", (total_ - done) / rate) : "";
  const std::string bar =
      total_ > 0 ? fmt::format(" [{:<20}] {:.0f}%",
                               std::string(static_cast<std::size_t>(share * 20), '#'), share * 100)
                 : "";
  fmt::print(stderr, "{}{}{} {}{}, {}{}/s{}{}", terminal_ ? "\r\033[K" : "", label_, bar,
             amount(done), unit_, amount(rate), unit_, left, terminal_ ? "" : "\n");
}

}  // namespace causeway::cli
