// The one progress bar: for work longer than two seconds, a bar with rate and time left where
// stderr is a terminal, a line every few seconds where it is not.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace causeway::cli {

class Progress {
 public:
  // `what` is being made, such as "datasets".
  Progress(std::string what, bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done, std::int64_t total);
  // The bar with words of the caller's, where stderr is a terminal; nothing where it is not.
  void show(double share, const std::string& text);
  // Takes the bar away, so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool quiet_;
  bool is_terminal_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
  std::deque<std::pair<Clock::time_point, std::int64_t>> recent_;  // what the rate is taken from

  double rate(Clock::time_point now, std::int64_t done);
};

// 3725 to "1:02:05", 65 to "1:05".
std::string format_seconds(double seconds);

}  // namespace causeway::cli
