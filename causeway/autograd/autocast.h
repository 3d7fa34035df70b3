// Mixed precision: while autocast is on, matrix products, convolutions and attention convert f32
// inputs to a 16-bit type, and softmax, norms and losses convert 16-bit inputs to f32. Conversions
// are recorded, so that parameters and their gradients stay f32.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

// The 16-bit type of this thread, or nothing.
std::optional<DType> autocast_type();

// Sets it during its lifetime; nothing turns autocast off.
class Autocast {
 public:
  explicit Autocast(std::optional<DType> type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::optional<DType> before_;
};

// Whether narrowed() or widened() would convert one of the tensors.
bool narrows(std::initializer_list<const Tensor*> tensors);
bool widens(const Tensor& x);
Tensor narrowed(const Tensor& x);
std::optional<Tensor> narrowed(const std::optional<Tensor>& x);
Tensor widened(const Tensor& x);

}  // namespace causeway::autograd
