#include "causeway/autograd/autocast.h"

#include "causeway/autograd/views.h"
#include "causeway/core/error.h"

#include <algorithm>

namespace causeway::autograd {

namespace {

thread_local std::optional<DType> current_type;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// f64 stays: it is chosen for its precision.
bool narrows(const Tensor& x) {
  return (x.dtype() == DType::f32 || is_half(x.dtype())) && x.dtype() != *current_type;
}

}  // namespace

std::optional<DType> autocast_type() { return current_type; }

Autocast::Autocast(std::optional<DType> type) : before_(current_type) {
  if (type.has_value() && !is_half(*type)) {
    fail(ErrorKind::invalid_argument, "autocast",
         "dtype " + std::string(to_string(*type)) + ": expected f16 or bf16");
  }
  current_type = type;
}

Autocast::~Autocast() { current_type = before_; }

bool narrows(std::initializer_list<const Tensor*> tensors) {
  return current_type.has_value() &&
         std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* x) { return x != nullptr && narrows(*x); });
}

bool widens(const Tensor& x) { return current_type.has_value() && is_half(x.dtype()); }

Tensor narrowed(const Tensor& x) { return narrows(x) ? autograd::to(x, *current_type) : x; }

std::optional<Tensor> narrowed(const std::optional<Tensor>& x) {
  return x.has_value() ? std::optional(narrowed(*x)) : std::nullopt;
}

Tensor widened(const Tensor& x) { return widens(x) ? autograd::to(x, DType::f32) : x; }

}  // namespace causeway::autograd
