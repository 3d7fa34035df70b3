#include "causeway/autograd/checkpoint.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/node.h"

#include <algorithm>

namespace causeway::autograd {

namespace {

// A call, with what is needed to run it again.
struct Call {
  Block block;
  std::vector<Tensor> inputs;  // the block's, then tracked tensors from outside that it uses
  std::size_t n_given = 0;     // how many of them are the block's
  DropoutPlace dropout;        // position of the dropout generator at the call
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

// Runs the block again with recording on, then the backward pass from its results: down to leaves
// that stand for its inputs, and to tracked tensors from outside, which may include the inputs.
void rerun(const Call& call, Backward& pass) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < call.n_given; ++i) {
    Tensor leaf = detach(call.inputs[i]);
    if (pass.needs(static_cast<int>(i))) set_requires_grad(leaf, true);
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
    const std::optional<Tensor> gradient = pass.gradient_if_any(static_cast<int>(i));
    if (!gradient.has_value() || !requires_grad(results[i])) continue;
    roots.push_back(results[i]);
    gradients.push_back(*gradient);
  }
  const auto found = internal::backward_until(roots, gradients, ends);
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (found[k].has_value()) pass.accumulate(places[k], *found[k]);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::optional<Tensor> gradient = gradient_of(leaves[i]);
    if (gradient.has_value()) pass.accumulate(static_cast<int>(i), *gradient);
  }
}

}  // namespace

std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs) {
  if (!recording()) return block(inputs);
  const auto same_types = [block, type = autocast_type()](const std::vector<Tensor>& given) {
    const Autocast again(type);
    return block(given);
  };
  Call call{same_types, inputs, inputs.size(), dropout_place()};
  std::vector<Tensor> results;
  std::vector<Tensor> parameters;
  {
    const NoGrad plain;
    internal::UseRecorder use_recorder;
    results = block(inputs);
    for (const Tensor& result : results) use_recorder.note_use(result);
    for (const Tensor& seen : use_recorder.results) {
      const bool given = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
        return input.record() == seen.record();
      });
      if (!given) call.inputs.push_back(seen);
    }
    parameters = std::move(use_recorder.leaves);
  }
  for (Tensor& result : results) result = detach(result);
  std::vector<const Tensor*> from;
  for (const Tensor& input : call.inputs) from.push_back(&input);
  Reads reads = from;
  for (const Tensor& parameter : parameters) reads.push_back(&parameter);
  const bool drops = dropout_place().calls != call.dropout.calls;
  if (drops && !results.empty()) reads.push_back(&dropout_step(results[0].device()));
  // Parameters inside the block need gradients even if no input does.
  Tensor anchor = Tensor::empty({0});
  set_requires_grad(anchor, !parameters.empty());
  from.push_back(&anchor);
  return record_all("checkpoint", std::move(results), from, reads,
                    [call](Backward& pass) { rerun(call, pass); });
}

}  // namespace causeway::autograd
