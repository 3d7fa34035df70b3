// Reducers, shared by CPU and GPU: how an element becomes an accumulator, how two accumulators are
// combined, and the final result.
#pragma once

#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/half_device.h"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace causeway::reducers {

// Sums of integers and bools are 64-bit.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, std::int64_t, Compute<T>>;
template <class T>
using SumResult = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
template <class T>
using MeanResult = std::conditional_t<std::is_integral_v<T>, float, T>;

template <class T>
struct Sum {
  using Acc = SumType<T>;
  using Result = SumResult<T>;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return Acc(0); }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const { return static_cast<Acc>(value); }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return static_cast<Result>(a); }
};

template <class T>
struct Mean {
  using Acc = SumType<T>;
  using Result = MeanResult<T>;
  std::int64_t count = 1;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return Acc(0); }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const { return static_cast<Acc>(value); }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const {
    if constexpr (std::is_same_v<Acc, float>) return Result(a / static_cast<float>(count));
    return static_cast<Result>(static_cast<double>(a) / static_cast<double>(count));
  }
};

template <class T>
struct Product {
  using Acc = SumType<T>;
  using Result = SumResult<T>;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return Acc(1); }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const { return static_cast<Acc>(value); }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return a * b; }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return static_cast<Result>(a); }
};

// The minimum and maximum of a compute type.
template <class C>
CAUSEWAY_HOST_DEVICE C lowest() {
  if constexpr (std::is_integral_v<C>) return std::numeric_limits<C>::min();
  return -std::numeric_limits<C>::infinity();
}
template <class C>
CAUSEWAY_HOST_DEVICE C highest() {
  if constexpr (std::is_integral_v<C>) return std::numeric_limits<C>::max();
  return std::numeric_limits<C>::infinity();
}

template <class T>
struct Minimum {
  using Acc = Compute<T>;
  using Result = T;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return highest<Acc>(); }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const { return static_cast<Acc>(value); }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return functors::Minimum()(a, b); }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return static_cast<Result>(a); }
};

template <class T>
struct Maximum {
  using Acc = Compute<T>;
  using Result = T;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return lowest<Acc>(); }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const { return static_cast<Acc>(value); }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return functors::Maximum()(a, b); }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return static_cast<Result>(a); }
};

template <class C>
struct Moments {
  C count;
  C mean;
  C squares;  // sum of squared deviations from the mean
};

// Chan's merge of moments: no cancellation for large means.
template <class T>
struct Variance {
  using C = Compute<T>;
  using Acc = Moments<C>;
  using Result = T;
  double correction = 0;  // the divisor is max(count - correction, 0)
  CAUSEWAY_HOST_DEVICE Acc identity() const { return {C(0), C(0), C(0)}; }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t) const {
    return {C(1), static_cast<C>(value), C(0)};
  }
  // Welford's update, cheaper than a merge.
  CAUSEWAY_HOST_DEVICE Acc include(Acc a, T value, std::int64_t) const {
    const C count = a.count + C(1);
    const C delta = static_cast<C>(value) - a.mean;
    const C mean = a.mean + delta / count;
    return {count, mean, a.squares + delta * (static_cast<C>(value) - mean)};
  }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const {
    const C count = a.count + b.count;
    const C share = count > C(0) ? b.count / count : C(0);
    const C delta = b.mean - a.mean;
    return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
  }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const {
    const C divisor = a.count - static_cast<C>(correction);
    return Result(a.squares / (divisor > C(0) ? divisor : C(0)));
  }
};

template <class C>
struct Place {
  C value;
  std::int64_t index;
};

// The position of the extreme: the first in case of ties; NaN takes precedence.
template <class T, class Better>
struct ArgExtreme {
  using C = Compute<T>;
  using Acc = Place<C>;
  using Result = std::int64_t;
  static constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();
  CAUSEWAY_HOST_DEVICE Acc identity() const { return {C(0), kNowhere}; }
  CAUSEWAY_HOST_DEVICE Acc load(T value, std::int64_t index) const {
    return {static_cast<C>(value), index};
  }
  // Indices are ascending, so a tie keeps the current one.
  CAUSEWAY_HOST_DEVICE Acc include(Acc a, T value, std::int64_t index) const {
    const C x = static_cast<C>(value);
    const bool takes =
        Better()(x, a.value) | (a.index == kNowhere) | ((x != x) & (a.value == a.value));
    return {takes ? x : a.value, takes ? index : a.index};
  }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const {
    if (a.index == kNowhere) return b;
    if (b.index == kNowhere) return a;
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    const bool tied = a.value == b.value || (a_nan && b_nan);
    if (tied) return a.index <= b.index ? a : b;
    if (a_nan || b_nan) return a_nan ? a : b;
    return Better()(a.value, b.value) ? a : b;
  }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return a.index; }
};
template <class T>
using ArgMinimum = ArgExtreme<T, functors::Less>;
template <class T>
using ArgMaximum = ArgExtreme<T, functors::Greater>;

// Includes one more element, with the reducer's own include() if it has one.
template <class Reducer, class T>
CAUSEWAY_HOST_DEVICE typename Reducer::Acc include(const Reducer& reducer,
                                                   const typename Reducer::Acc& acc, T value,
                                                   std::int64_t index) {
  if constexpr (requires { reducer.include(acc, value, index); }) {
    return reducer.include(acc, value, index);
  } else {
    return reducer.combine(acc, reducer.load(value, index));
  }
}

// Reduces accumulators: the second step of a reduction in pieces.
template <class Reducer>
struct Combiner {
  using Acc = typename Reducer::Acc;
  using Result = typename Reducer::Result;
  Reducer base;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return base.identity(); }
  CAUSEWAY_HOST_DEVICE Acc load(Acc value, std::int64_t) const { return value; }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return base.combine(a, b); }
  CAUSEWAY_HOST_DEVICE Result finish(Acc a) const { return base.finish(a); }
};

}  // namespace causeway::reducers
