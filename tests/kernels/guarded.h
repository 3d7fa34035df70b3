// Operands for kernel tests: outputs surrounded by guard elements, and inputs at any alignment.
#pragma once

#include "causeway/kernels/operand.h"
#include "tests/tensor/devices.h"

#include <string>
#include <vector>

namespace causeway {

inline constexpr DType kFloating[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

inline kernels::Operand operand_of(const Tensor& tensor) {
  return {tensor.data(), tensor.dtype(), tensor.shape(), tensor.strides(), false};
}

inline DType statistics_of(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }

// The elements on `device`, `shift` elements after an aligned address.
inline Tensor placed(const Tensor& values, Device device, std::int64_t shift) {
  const Tensor flat = values.contiguous().flatten();
  const Tensor whole = Tensor::empty({flat.numel() + shift}, flat.dtype(), device);
  const Tensor inside = whole.slice(0, shift);
  if (flat.numel() > 0) inside.copy_from(flat.to(device));
  return inside;
}

// A new output surrounded by memory that a kernel must not write.
class Guarded {
 public:
  Guarded(std::int64_t count, DType dtype, Device device, std::int64_t shift = 0)
      : whole_(full({count + 2 * kGuard + shift}, kMark, dtype, device)),
        inside_(whole_.slice(0, kGuard + shift, kGuard + shift + count)),
        before_(kGuard + shift) {}

  kernels::Operand operand() const { return operand_of(inside_); }
  const Tensor& inside() const { return inside_; }

  // The elements, on the CPU, after checking the guards.
  Tensor take(const std::string& what) const {
    const Tensor host = whole_.to(Device::cpu());
    const auto values = host.to(DType::f64).to_vector<double>();
    const auto end = static_cast<std::size_t>(before_ + inside_.numel());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i >= static_cast<std::size_t>(before_) && i < end) continue;
      EXPECT_EQ(values[i], kMark) << what << ": a guard element was overwritten at "
                                  << static_cast<std::int64_t>(i) - before_;
      if (values[i] != kMark) break;
    }
    return host.slice(0, before_, before_ + inside_.numel()).contiguous();
  }

 private:
  static constexpr std::int64_t kGuard = 64;
  static constexpr double kMark = 77;
  Tensor whole_;
  Tensor inside_;
  std::int64_t before_;
};

inline std::vector<double> doubles(const Tensor& tensor) {
  return tensor.to(Device::cpu()).to(DType::f64).contiguous().flatten().to_vector<double>();
}

// `want`, computed in f64, as a tensor of the type it is compared in.
inline Tensor from_doubles(const std::vector<double>& values, DType dtype) {
  return Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())}).to(dtype);
}

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Shapes for which every kernel over rows is tested.
inline constexpr std::int64_t kColumns[] = {1,    2,    7,    31,   32,   33,    96,   256,
                                            1000, 1024, 1025, 4096, 5000, 20000, 40000};
inline constexpr std::int64_t kRows[] = {0, 1, 3, 100};

// Long rows are slow in f64 loops; a few of them are enough.
inline bool skips(std::int64_t rows, std::int64_t columns) { return rows > 3 && columns > 5000; }

// The tensor on the device, or an operand without data.
class Placed {
 public:
  Placed(const Tensor& values, Device device, std::int64_t shift)
      : there_(values.numel() > 0), tensor_(placed(values, device, shift)) {}
  kernels::Operand operand() const {
    kernels::Operand operand = operand_of(tensor_);
    if (!there_) operand.data = nullptr;
    return operand;
  }

 private:
  bool there_;
  Tensor tensor_;
};

inline std::vector<double> given_or(const Tensor& tensor, std::int64_t count, double otherwise) {
  return tensor.numel() > 0 ? doubles(tensor) : std::vector<double>(at(count), otherwise);
}

// The gradient of sum(out * weights) by finite differences, all in f64.
inline void expect_gradient(const std::function<double(const std::vector<double>&)>& value,
                            const std::vector<double>& point, const std::vector<double>& gradient,
                            const std::string& what) {
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < point.size(); ++i) {
    auto moved = point;
    moved[i] = point[i] + kStep;
    const double above = value(moved);
    moved[i] = point[i] - kStep;
    const double difference = (above - value(moved)) / (2 * kStep);
    ASSERT_NEAR(difference, gradient[i], 1e-6 * (1 + std::fabs(gradient[i]))) << what << " " << i;
  }
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace causeway
