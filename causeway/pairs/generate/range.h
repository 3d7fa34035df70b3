// Intervals that contain every value an expression can take. The generator computes them while it
// builds a program, and repairs what would leave the domain of an operation.
#pragma once

#include <algorithm>
#include <cmath>

namespace causeway::pairs {

struct Range {
  double low = 0;
  double high = 0;

  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
  bool contains(double value) const { return low <= value && value <= high; }
  bool inside(double from, double to) const { return from <= low && high <= to; }
  // Does not come closer to zero than `margin`.
  bool avoids_zero(double margin) const { return low >= margin || high <= -margin; }
  bool operator==(const Range&) const = default;
};

inline Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
inline Range operator+(Range a, Range b) { return {a.low + b.low, a.high + b.high}; }
inline Range operator-(Range a, Range b) { return {a.low - b.high, a.high - b.low}; }
inline Range operator-(Range a) { return {-a.high, -a.low}; }
inline Range operator*(Range a, Range b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}
// The divisor does not contain zero.
inline Range operator/(Range a, Range b) { return a * Range{1 / b.high, 1 / b.low}; }
inline Range minimum(Range a, Range b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}
inline Range maximum(Range a, Range b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
inline Range absolute(Range a) {
  if (a.contains(0)) return {0, a.magnitude()};
  return a.low > 0 ? a : -a;
}
inline Range square(Range a) {
  const Range b = absolute(a);
  return {b.low * b.low, b.high * b.high};
}
// Of a function that does not decrease.
template <class F>
Range increasing(Range a, F f) {
  return {f(a.low), f(a.high)};
}
// Of `trips` additions of a value in `a`, from none to all of them.
inline Range accumulated(Range a, double trips) {
  return {std::min(0.0, a.low) * trips, std::max(0.0, a.high) * trips};
}

}  // namespace causeway::pairs
