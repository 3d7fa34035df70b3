#include "causeway/autograd/dropout.h"

#include "causeway/autograd/dense.h"
#include "causeway/core/error.h"
#include "causeway/kernels/dropout/dropout.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

struct Randomness {
  DropoutPlace place;
  std::map<std::pair<DeviceKind, int>, Tensor> steps;  // one i64 per device
  bool moved = false;                                  // whether a step may differ from 0
};

Randomness& randomness() {
  static auto* state = new Randomness();  // never destroyed: tensors may be freed at exit
  return *state;
}

const Tensor& step_of(Device device) {
  const auto key = std::pair(device.kind, device.index);
  auto& steps = randomness().steps;
  const auto found = steps.find(key);
  if (found != steps.end()) return found->second;
  return steps.emplace(key, zeros({1}, DType::i64, device)).first->second;
}

Tensor apply(const Tensor& x, double probability, kernels::RandomKey key) {
  const Tensor in = dense(detach(x));
  Tensor out = Tensor::empty(in.shape(), in.dtype(), in.device());
  const Tensor& step = step_of(in.device());
  const StreamView stream = current_stream(in.device());
  if (out.numel() > 0) {
    kernels::dropout(stream, key, operand(step, stream), probability, operand(in, stream),
                     operand(out, stream));
  }
  return out;
}

}  // namespace

Tensor dropout(const Tensor& x, double probability, bool training) {
  if (!(probability >= 0 && probability <= 1) || !is_floating(x.dtype())) {
    fail(ErrorKind::invalid_argument, "dropout",
         fmt::format("expected a floating tensor and a probability in [0, 1], got {} and {}",
                     to_string(x.dtype()), probability));
  }
  if (!training || probability == 0) return x;
  DropoutPlace& place = randomness().place;
  const kernels::RandomKey key{place.seed, place.calls++};
  return record("dropout", apply(x, probability, key), {&x}, Reads{&step_of(x.device())},
                [probability, key](Backward& pass) {
                  pass.accumulate(0, apply(pass.gradient(), probability, key));
                });
}

void manual_seed(std::uint64_t seed) {
  Randomness& state = randomness();
  state.place = {seed, 0};
  for (auto& [device, step] : state.steps) {
    const std::uint64_t before = step.storage()->n_writes;
    step.copy_from(zeros({}, DType::i64, step.device()));
    // If no step was begun, the value did not change.
    if (!state.moved) step.storage()->n_writes = before;
  }
  state.moved = false;
}

void begin_step(Device device) {
  const Tensor& step = step_of(device);
  const StreamView stream = current_stream(device);
  const std::int64_t one = 1;
  kernels::Operand immediate{const_cast<std::int64_t*>(&one), DType::i64, {1}, {0}, true};
  kernels::binary(stream, kernels::BinaryOp::add, operand(step, stream), immediate,
                  operand(step, stream));
  ++step.storage()->n_writes;
  randomness().moved = true;
  randomness().place.calls = 0;
}

std::int64_t current_step(Device device) { return step_of(device).item_integer(); }

void set_step(Device device, std::int64_t step) {
  step_of(device).copy_from(full({1}, step, DType::i64, device));
  randomness().moved = true;
  randomness().place.calls = 0;
}

const Tensor& dropout_step(Device device) { return step_of(device); }
DropoutPlace dropout_place() { return randomness().place; }
void set_dropout_place(const DropoutPlace& place) { randomness().place = place; }

}  // namespace causeway::autograd
