// The one progress bar: for work that may take longer than two seconds, on stderr. A terminal gets
// a bar with rate and time left, anything else a line every few seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace causeway::cli {

class Progress {
 public:
  // `unit` is what is counted, such as "B" or "rows"; `total` 0 where it is not known.
  Progress(std::string label, std::string unit, double total, bool quiet);
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  std::string unit_;
  double total_;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace causeway::cli
