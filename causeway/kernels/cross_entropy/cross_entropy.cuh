// Shared by the cross-entropy kernels: their arguments, and the reduction of a row with a class as
// its target.
#pragma once

#include "causeway/kernels/indexing/index_check.cuh"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

template <class T>
struct LossRows {
  using C = Compute<T>;
  const T* logits;
  const std::int64_t* classes;  // either classes
  const T* probabilities;       // or probabilities
  const C* scale;
  C* losses;
  T* gradient;
  std::int64_t n_rows;
  int n_columns;
  std::int64_t ignored;
  C smoothing;
  IndexCheck check;

  // The row's class, or -1 if it has no loss; the thread with `reports` reports one out of range.
  __device__ __forceinline__ int target(std::int64_t row, bool reports) const {
    const std::int64_t index = classes[row];
    if (index == ignored) return -1;
    const bool fits = index >= 0 && index < n_columns;
    if (!fits && reports) check.fits(index);
    return fits ? static_cast<int>(index) : -1;
  }

  // The reference for the smoothing term of the row at `first`: the target's logit, if it is
  // finite.
  __device__ __forceinline__ C base(std::int64_t first, int target) const {
    if (smoothing == C(0) || target < 0) return C(0);
    const C x = static_cast<C>(logits[first + target]);
    return x - x == C(0) ? x : C(0);
  }
};

// The reduction of a row whose target is a class.
template <class C>
struct ClassSums {
  MaxSum<C> softmax;
  C total;      // for smoothing: sum of reference - logit
  C at_target;  // the target's logit, in the one thread that holds it

  static __device__ __forceinline__ ClassSums none() { return {MaxSum<C>::none(), C(0), C(0)}; }
  static __device__ __forceinline__ ClassSums combine(const ClassSums& a, const ClassSums& b) {
    return {MaxSum<C>::combine(a.softmax, b.softmax), a.total + b.total, a.at_target + b.at_target};
  }
};

// `base` is the reference of sums.total.
template <class C>
__device__ __forceinline__ C class_loss(const ClassSums<C>& sums, int n_columns, C smoothing,
                                        C base) {
  const C log_sum = math::log(sums.softmax.sum);
  const C loss = log_sum + (sums.softmax.max - sums.at_target);
  if (smoothing == C(0)) return loss;
  const C spread = log_sum + ((sums.softmax.max - base) + sums.total / static_cast<C>(n_columns));
  return (C(1) - smoothing) * loss + smoothing * spread;
}

}  // namespace causeway::kernels::cuda
