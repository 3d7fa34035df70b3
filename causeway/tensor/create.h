// Tensor creation: constants, ranges, random numbers.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/random/random.h"
#include "causeway/tensor/tensor.h"

namespace causeway {

using kernels::Scalar;

Tensor full(const Shape& shape, Scalar value, DType dtype = DType::f32,
            Device device = Device::cpu());
Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
// start, start + step, ... up to but excluding stop, computed in f64 or i64.
Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype, Device device = Device::cpu());
// The identity matrix.
Tensor eye(std::int64_t n, DType dtype = DType::f32, Device device = Device::cpu());

// A source of random tensors. Every call uses the next random stream of the seed, so the k-th call
// gives the same numbers on any device, regardless of the shapes drawn before.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t next() const { return next_; }
  // Continues at call number `call`.
  void seek(std::uint64_t call) { next_ = call; }

  Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32,
                 Device device = Device::cpu());
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType dtype = DType::f32,
                Device device = Device::cpu());
  // Integers in [low, high).
  Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::i64,
                  Device device = Device::cpu());
  // A random permutation of 0 ... n-1, i64.
  Tensor permutation(std::int64_t n, Device device = Device::cpu());

 private:
  kernels::RandomKey take() { return {seed_, next_++}; }

  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

}  // namespace causeway
