#include "causeway/autograd/checkpoint.h"

#include "causeway/autograd/dropout.h"
#include "causeway/autograd/node.h"

#include <algorithm>

namespace causeway::autograd {

namespace {

// A call: what is needed to run it again.
struct Call {
  Block block;
  std::vector<Tensor> inputs;  // the block's, then tracked results from outside that it uses too
  std::size_t n_given = 0;     // how many of them are the block's
  DropoutPlace dropout;        // where that was when it ran
};

class AtDropoutPlace {
 public:
  explicit AtDropoutPlace(const DropoutPlace& place) : before_(dropout_place()) {
    set_dropout_place(place);
  }
  ~AtDropoutPlace() { set_dropout_place(before_); }
  AtDropoutPlace(const AtDropoutPlace&) = delete;
  AtDropoutPlace& operator=(const AtDropoutPlace&) = delete;

 private:
  DropoutPlace before_;
};

// Runs the block again with the tape on, and back from its results: to leaves that stand for what
// it is given, and to results from outside, among which may be what it is given, too.
void rerun(const Call& call, Backward& walk) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < call.n_given; ++i) {
    Tensor leaf = detach(call.inputs[i]);
    if (walk.needs(static_cast<int>(i))) set_requires_grad(leaf, true);
    leaves.push_back(std::move(leaf));
  }
  std::vector<Tensor> ends;
  std::vector<int> places;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!requires_grad(call.inputs[i]) || is_leaf(call.inputs[i])) continue;
    ends.push_back(call.inputs[i]);
    places.push_back(static_cast<int>(i));
  }
  std::vector<Tensor> results;
  {
    const AtDropoutPlace again(call.dropout);
    const RecordingGuard on(true);
    results = call.block(leaves);
  }
  std::vector<Tensor> roots;
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::optional<Tensor> gradient = walk.gradient_if_any(static_cast<int>(i));
    if (!gradient.has_value() || !requires_grad(results[i])) continue;
    roots.push_back(results[i]);
    gradients.push_back(*gradient);
  }
  const auto found = internal::backward_until(roots, gradients, ends);
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (found[k].has_value()) walk.give(places[k], *found[k]);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::optional<Tensor> gradient = gradient_of(leaves[i]);
    if (gradient.has_value()) walk.give(static_cast<int>(i), *gradient);
  }
}

}  // namespace

std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs) {
  if (!recording()) return block(inputs);
  Call call{block, inputs, inputs.size(), dropout_place()};
  std::vector<Tensor> results;
  std::vector<Tensor> parameters;
  {
    const NoGrad plain;
    internal::Witness witness;
    results = block(inputs);
    for (const Tensor& result : results) witness.look_at(result);
    for (const Tensor& seen : witness.results) {
      const bool given = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
        return input.record() == seen.record();
      });
      if (!given) call.inputs.push_back(seen);
    }
    parameters = std::move(witness.leaves);
  }
  for (Tensor& result : results) result = detach(result);
  std::vector<const Tensor*> from;
  for (const Tensor& input : call.inputs) from.push_back(&input);
  Reads reads = from;
  for (const Tensor& parameter : parameters) reads.push_back(&parameter);
  const bool drops = dropout_place().calls != call.dropout.calls;
  if (drops && !results.empty()) reads.push_back(&dropout_step(results[0].device()));
  // Parameters inside the block want gradients even where no input does.
  Tensor anchor = Tensor::empty({0});
  set_requires_grad(anchor, !parameters.empty());
  from.push_back(&anchor);
  return record_all("checkpoint", std::move(results), from, reads,
                    [call](Backward& walk) { rerun(call, walk); });
}

}  // namespace causeway::autograd
