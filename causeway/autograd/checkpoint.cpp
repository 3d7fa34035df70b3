#include "causeway/autograd/checkpoint.h"

#include "causeway/autograd/dropout.h"
#include "causeway/autograd/node.h"

#include <algorithm>

namespace causeway::autograd {

namespace {

// A call: what is needed to run it again.
struct Call {
  Block block;
  std::vector<Tensor> inputs;
  std::vector<Tensor> others;  // tracked results from outside that the block uses too
  std::uint64_t dropout_calls;
};

// Runs the block again with the tape on, and back from its results.
void rerun(const Call& call, Backward& walk) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    Tensor leaf = detach(call.inputs[i]);
    if (walk.needs(static_cast<int>(i))) set_requires_grad(leaf, true);
    leaves.push_back(std::move(leaf));
  }
  const std::uint64_t calls_now = dropout_calls();
  set_dropout_calls(call.dropout_calls);
  std::vector<Tensor> results;
  {
    const RecordingGuard on(true);
    results = call.block(leaves);
  }
  set_dropout_calls(calls_now);
  const int n_inputs = static_cast<int>(leaves.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!requires_grad(results[i])) continue;
    const auto gradients = internal::backward_until(results[i], walk.gradient(static_cast<int>(i)),
                                                    i + 1 < results.size(), call.others);
    int input = n_inputs;
    for (const std::optional<Tensor>& gradient : gradients) {
      if (gradient.has_value()) walk.give(input, *gradient);
      ++input;
    }
  }
  for (int i = 0; i < n_inputs; ++i) {
    const std::optional<Tensor> gradient = gradient_of(leaves[static_cast<std::size_t>(i)]);
    if (gradient.has_value()) walk.give(i, *gradient);
  }
}

}  // namespace

std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs) {
  if (!recording()) return block(inputs);
  Call call{block, inputs, {}, dropout_calls()};
  std::vector<Tensor> results;
  {
    const NoGrad plain;
    internal::Witness witness;
    results = block(inputs);
    for (const Tensor& result : results) witness.look_at(result);
    call.others = std::move(witness.seen);
  }
  for (const Tensor& input : inputs) {
    std::erase_if(call.others, [&](const Tensor& t) { return t.record() == input.record(); });
  }
  for (Tensor& result : results) result = detach(result);
  std::vector<const Tensor*> from;
  for (const Tensor& input : call.inputs) from.push_back(&input);
  for (const Tensor& other : call.others) from.push_back(&other);
  const Reads reads = from;
  // Parameters inside the block want gradients even where no input does.
  Tensor anchor = Tensor::empty({0});
  set_requires_grad(anchor, true);
  from.push_back(&anchor);
  return record_all("checkpoint", std::move(results), from, reads,
                    [call](Backward& walk) { rerun(call, walk); });
}

}  // namespace causeway::autograd
