#include "cli/progress.h"

#include "cli/print.h"

#include "causeway/core/shown.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string_view>

namespace causeway::cli {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kQuietStart{2.0};
constexpr Seconds kBarEvery{0.1};
constexpr Seconds kLineEvery{5.0};
constexpr Seconds kWindow{20.0};
constexpr int kBarWidth = 30;

std::string bar(double fraction) {
  std::string text;
  const int filled = static_cast<int>(std::lround(fraction * kBarWidth));
  for (int i = 0; i < kBarWidth; ++i) text += i < filled ? "━" : "─";
  return text;
}

}  // namespace

std::string format_seconds(double seconds) {
  const auto all = static_cast<std::int64_t>(std::ceil(std::max(seconds, 0.0)));
  if (all >= 3600) return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
  return fmt::format("{}:{:02}", all / 60, all % 60);
}

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)),
      quiet_(quiet),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()) {
  recent_.emplace_back(start_, 0);
}

// Over a recent window, since datasets kept from an earlier run are fast.
double Progress::rate(Clock::time_point now, std::int64_t done) {
  recent_.emplace_back(now, done);
  while (recent_.size() > 2 && now - recent_[1].first > kWindow) recent_.pop_front();
  const Seconds passed = now - recent_.front().first;
  return static_cast<double>(done - recent_.front().second) / std::max(passed.count(), 1e-9);
}

void Progress::update(std::int64_t done, std::int64_t total, const std::string& note) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < (is_terminal_ ? kBarEvery : kLineEvery) && done < total) return;
  const double per_second = rate(now, done);
  if (now - start_ < kQuietStart) return;
  last_ = now;
  const double fraction = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const std::string left =
      per_second > 0 ? format_seconds(static_cast<double>(total - done) / per_second) : "?";
  const std::string text =
      fmt::format("{} of {} {}, {:.3g}/s, {} left", done, total, what_, per_second, left);
  if (is_terminal_) {
    show(fraction, note.empty() ? text : text + "; " + note);
  } else {
    cli::note("causeway: {}\n", text);
  }
}

void Progress::show(double fraction, const std::string& text) {
  if (quiet_ || !is_terminal_) return;
  const std::string line =
      fmt::format("\r\033[K{} {:3.0f}%  {}", bar(fraction), fraction * 100, printable(text));
  std::fputs(line.c_str(), stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void report_interrupt() {
  std::signal(SIGINT, [](int) {
    constexpr std::string_view kWords =
        "\ncauseway: interrupted; run the same command again to resume\n";
    const ssize_t ignored = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    static_cast<void>(ignored);
    _exit(130);
  });
}

}  // namespace causeway::cli
