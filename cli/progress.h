// Progress of work longer than two seconds: a bar with rate and time left if stderr is a terminal,
// else a line every few seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace causeway::cli {

class Progress {
 public:
  // `what` is the unit, such as "datasets".
  Progress(std::string what, bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `note` follows the time left on a terminal.
  void update(std::int64_t done, std::int64_t total, const std::string& note = {});
  // Shows the bar with the given text, if stderr is a terminal.
  void show(double fraction, const std::string& text);
  // Removes the bar, so that other text can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool quiet_;
  bool is_terminal_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
  std::deque<std::pair<Clock::time_point, std::int64_t>> recent_;  // for the rate

  double rate(Clock::time_point now, std::int64_t done);
};

// For commands that resume from what they wrote: Ctrl-C says so and ends the process.
void report_interrupt();

// 3725 to "1:02:05", 65 to "1:05".
std::string format_seconds(double seconds);

}  // namespace causeway::cli
