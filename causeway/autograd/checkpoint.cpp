#include "causeway/autograd/checkpoint.h"

#include "causeway/autograd/dropout.h"

namespace causeway::autograd {

namespace {

// Runs the block again with the tape on, and back from its results.
void rerun(const Block& block, const std::vector<Tensor>& inputs, std::uint64_t calls,
           Backward& walk) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor leaf = detach(inputs[i]);
    if (walk.needs(static_cast<int>(i))) set_requires_grad(leaf, true);
    leaves.push_back(std::move(leaf));
  }
  const std::uint64_t calls_now = dropout_calls();
  set_dropout_calls(calls);
  std::vector<Tensor> results;
  {
    const RecordingGuard on(true);
    results = block(leaves);
  }
  set_dropout_calls(calls_now);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!requires_grad(results[i])) continue;
    backward(results[i], walk.gradient(static_cast<int>(i)), i + 1 < results.size());
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::optional<Tensor> gradient = gradient_of(leaves[i]);
    if (gradient.has_value()) walk.give(static_cast<int>(i), *gradient);
  }
}

}  // namespace

std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs) {
  const std::uint64_t calls = dropout_calls();
  std::vector<Tensor> results;
  {
    const NoGrad plain;
    results = block(inputs);
  }
  if (!recording()) return results;
  for (Tensor& result : results) result = detach(result);
  std::vector<const Tensor*> from;
  for (const Tensor& input : inputs) from.push_back(&input);
  // Parameters inside the block want gradients even where no input does.
  Tensor anchor = Tensor::empty({0});
  set_requires_grad(anchor, true);
  from.push_back(&anchor);
  return record_all("checkpoint", std::move(results), from,
                    [block, inputs, calls](Backward& walk) { rerun(block, inputs, calls, walk); });
}

}  // namespace causeway::autograd
