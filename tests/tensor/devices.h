// Shared by tests that run on every device.
#pragma once

#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace causeway {

inline const Device kGpu = Device::cuda(0);

// Skips a Gpu test if there is no GPU.
#define CAUSEWAY_REQUIRE_GPU() \
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence()

// Whether to leave cases out, for sanitizers: on a GPU a launch takes minutes under some of them.
inline bool few_cases() { return std::getenv("CAUSEWAY_FEW_CASES") != nullptr; }

// All values of a case, or with few_cases() these few.
template <class T>
std::vector<T> cases(std::vector<T> all, std::vector<T> few) {
  return few_cases() ? std::move(few) : std::move(all);
}

// Random values of a dtype, drawn on the CPU; small integers, so that sums and products do not
// overflow.
inline Tensor draw(Generator& generator, const Shape& shape, DType dtype) {
  if (is_floating(dtype)) return generator.normal(shape, 0, 1, dtype);
  if (dtype == DType::boolean) return generator.integers(shape, 0, 2, DType::u8).to(dtype);
  return generator.integers(shape, is_signed(dtype) ? -7 : 0, 8, dtype);
}

struct Tolerance {
  double relative;
  double absolute;
};

inline Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return {1e-7, 1e-7};
    case DType::f32: return {1.3e-6, 1e-5};
    case DType::f16: return {1e-3, 1e-5};
    case DType::bf16: return {1.6e-2, 1e-5};
    default: return {0, 0};
  }
}

// Compares values; NaN equals NaN. `scale` widens the tolerance for long sums.
inline void expect_close(const Tensor& got, const Tensor& want, const std::string& what,
                         double scale = 1) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  const Tolerance allowed = tolerance(want.dtype());
  const auto a = got.to(Device::cpu()).to(DType::f64).to_vector<double>();
  const auto b = want.to(Device::cpu()).to(DType::f64).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double limit = scale * (allowed.absolute + allowed.relative * std::fabs(b[i]));
    ASSERT_TRUE(std::fabs(a[i] - b[i]) <= limit) << what << ": element " << i << " of " << a.size()
                                                 << " is " << a[i] << ", expected " << b[i];
  }
}

inline void expect_same_bytes(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  const Tensor a = got.to(Device::cpu()).contiguous();
  const Tensor b = want.to(Device::cpu()).contiguous();
  if (a.n_bytes() == 0) return;
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.n_bytes()), 0) << what;
}

// FNV-1a over the bytes of the elements.
inline std::uint64_t hash_of(const Tensor& tensor) {
  const Tensor host = tensor.to(Device::cpu()).contiguous();
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
  for (std::size_t i = 0; i < host.n_bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

// Views of a (rows, columns) tensor: contiguous, transposed, strided, reversed, at an odd offset,
// and expanded.
struct Layout {
  const char* name;
  std::function<Tensor(const Tensor&)> view;
};

inline std::vector<Layout> layouts() {
  return {
      {"contiguous", [](const Tensor& x) { return x; }},
      {"transposed", [](const Tensor& x) { return x.transpose(); }},
      {"stepped", [](const Tensor& x) { return x.slice(1, 0, Tensor::kEnd, 2); }},
      {"reversed", [](const Tensor& x) { return x.slice(0, -1, Tensor::kEnd, -1); }},
      {"offset", [](const Tensor& x) { return x.slice(1, 1); }},
      {"repeated", [](const Tensor& x) { return x.slice(0, 0, 1).expand(x.shape()); }},
  };
}

}  // namespace causeway
