#include "causeway/train/gradient_sum.h"

#include "causeway/autograd/tape.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace causeway::train {

GradientSum::GradientSum(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  const MemoryScope scope("gradients");
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters_) count += parameter.numel();
  sums_ = zeros({count}, DType::f32, parameters_.front().device());
  std::int64_t begin = 0;
  for (const Tensor& parameter : parameters_) {
    const std::int64_t end = begin + parameter.numel();
    views_.push_back(sums_.slice(0, begin, end).reshape(parameter.shape()));
    begin = end;
  }
}

void GradientSum::reset() const {
  sums_.copy_from(zeros({}, DType::f32, sums_.device()).expand(sums_.shape()));
}

void GradientSum::add() const {
  const MemoryScope scope("gradients");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto gradient = autograd::gradient_of(parameters_[i]);
    if (!gradient.has_value()) continue;
    views_[i].copy_from(views_[i] + gradient->to(DType::f32));
    autograd::set_gradient(parameters_[i], std::nullopt);
  }
}

void GradientSum::store() const {
  const MemoryScope scope("gradients");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    autograd::set_gradient(parameters_[i], views_[i].to(parameters_[i].dtype()));
  }
}

}  // namespace causeway::train
