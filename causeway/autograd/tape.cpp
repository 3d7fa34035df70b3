#include "causeway/autograd/tape.h"

#include "causeway/core/error.h"
#include "causeway/autograd/node.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

thread_local bool recording_on = true;
thread_local internal::UseRecorder* use_recorder = nullptr;
thread_local bool anomaly_on = false;
thread_local std::int64_t anomaly_step = -1;
std::atomic<std::uint64_t> next_hook{1};
std::atomic<std::uint64_t> next_node{1};
std::atomic<std::int64_t> n_live_nodes{0};

std::shared_ptr<Record> record_for(const Tensor& x) {
  auto made = std::make_shared<Record>();
  made->shape = x.shape();
  made->dtype = x.dtype();
  made->device = x.device();
  return made;
}

Record& tracked(const char* operation, const Tensor& x) {
  if (!requires_grad(x)) {
    fail(ErrorKind::invalid_argument, operation,
         "the tensor is not tracked; call requires_grad_() on it first");
  }
  return *x.record();
}

}  // namespace

Node::Node() : number(next_node++) { ++n_live_nodes; }

// Releases the nodes of the inputs in a loop: recursion would overflow the stack for long chains.
// The rule may hold inputs too, so it is released while they are held here.
Node::~Node() {
  --n_live_nodes;
  std::vector<std::shared_ptr<Record>> pending = std::move(inputs);
  rule = nullptr;
  while (!pending.empty()) {
    const std::shared_ptr<Record> record = std::move(pending.back());
    pending.pop_back();
    if (record == nullptr || record.use_count() > 1 || record->node.use_count() > 1) continue;
    if (record->node == nullptr) continue;
    for (auto& input : record->node->inputs) pending.push_back(std::move(input));
    record->node->inputs.clear();
    record->node->rule = nullptr;
  }
}

std::int64_t live_nodes() { return n_live_nodes; }

bool requires_grad(const Tensor& x) { return x.record() != nullptr && x.record()->wanted; }

bool is_leaf(const Tensor& x) { return x.record() == nullptr || x.record()->node == nullptr; }

void set_requires_grad(Tensor& x, bool wanted) {
  if (!wanted) {
    if (!is_leaf(x)) {
      fail(ErrorKind::invalid_argument, "requires_grad",
           "the tensor is the result of tracked operations; use detach()");
    }
    if (x.record() != nullptr) x.record()->wanted = false;
    return;
  }
  if (x.record() != nullptr) {
    x.record()->wanted = true;
    return;
  }
  if (!is_floating(x.dtype())) {
    fail(ErrorKind::invalid_argument, "requires_grad",
         fmt::format("{} tensors have no gradients; convert it, as with .to(\"f32\")",
                     to_string(x.dtype())));
  }
  x.set_record(record_for(x));
}

Tensor detach(const Tensor& x) {
  Tensor plain = x;
  plain.set_record(nullptr);
  return plain;
}

std::optional<Tensor> gradient_of(const Tensor& x) {
  return x.record() == nullptr ? std::nullopt : x.record()->gradient;
}

void set_gradient(const Tensor& x, std::optional<Tensor> gradient) {
  if (!gradient.has_value()) {
    if (x.record() != nullptr) x.record()->gradient.reset();
    return;
  }
  Record& record = tracked("grad", x);
  internal::require_gradient("grad", *gradient, record);
  // Backward accumulates in place: the memory must be contiguous and not overlap.
  record.gradient = detach(*gradient).contiguous();
}

std::uint64_t add_hook(const Tensor& x, Hook hook) {
  const std::uint64_t id = next_hook++;
  tracked("register_hook", x).hooks.emplace_back(id, std::move(hook));
  return id;
}

void remove_hook(const Tensor& x, std::uint64_t id) {
  if (x.record() == nullptr) return;
  std::erase_if(x.record()->hooks, [&](const auto& entry) { return entry.first == id; });
}

void set_receiver(const Tensor& x, Receiver receiver) {
  tracked("set_receiver", x).receiver = std::move(receiver);
}

bool recording() { return recording_on; }
RecordingGuard::RecordingGuard(bool on) : before_(std::exchange(recording_on, on)) {}
RecordingGuard::~RecordingGuard() { recording_on = before_; }

DetectAnomaly::DetectAnomaly(std::int64_t step)
    : before_(std::exchange(anomaly_on, true)), step_before_(std::exchange(anomaly_step, step)) {}
DetectAnomaly::~DetectAnomaly() {
  anomaly_on = before_;
  anomaly_step = step_before_;
}

namespace internal {

void require_gradient(const char* name, const Tensor& gradient, const Record& record) {
  if (gradient.shape() == record.shape && gradient.dtype() == record.dtype &&
      gradient.device() == record.device) {
    return;
  }
  fail(gradient.shape() == record.shape ? ErrorKind::invalid_argument : ErrorKind::shape_mismatch,
       name,
       fmt::format("gradient {} of {} on {} does not match the tensor {} of {} on {}",
                   to_string(gradient.shape()), to_string(gradient.dtype()),
                   to_string(gradient.device()), to_string(record.shape), to_string(record.dtype),
                   to_string(record.device)));
}

UseRecorder::UseRecorder() : before_(std::exchange(use_recorder, this)), first_node_(next_node) {}
UseRecorder::~UseRecorder() { use_recorder = before_; }

void UseRecorder::note_use(const Tensor& x) {
  if (!requires_grad(x) || (!is_leaf(x) && x.record()->node->number >= first_node_)) return;
  std::vector<Tensor>& list = is_leaf(x) ? leaves : results;
  const bool known = std::any_of(list.begin(), list.end(),
                                 [&](const Tensor& other) { return other.record() == x.record(); });
  if (!known) list.push_back(x);
}

bool wanted(std::span<const Tensor* const> inputs) {
  if (use_recorder != nullptr) {
    for (const Tensor* input : inputs) use_recorder->note_use(*input);
  }
  if (!recording_on) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor* input) { return requires_grad(*input); });
}

void note(const char* name, std::span<Tensor> results, std::span<const Tensor* const> inputs,
          const Reads& reads, Rule rule) {
  auto node = std::make_shared<Node>();
  node->name = name;
  node->rule = std::move(rule);
  for (const Tensor* read : reads) {
    if (read != nullptr) node->reads.push_back({read->storage(), read->storage()->n_writes});
  }
  for (const Tensor* input : inputs) {
    node->inputs.push_back(requires_grad(*input) ? input->record() : nullptr);
  }
  int output = 0;
  for (Tensor& result : results) {
    node->results.push_back({result.shape(), result.dtype(), result.device()});
    if (is_floating(result.dtype())) {
      auto made = record_for(result);
      made->node = node;
      made->output = output;
      result.set_record(std::move(made));
    }
    ++output;
  }
}

bool anomaly_detection() { return anomaly_on; }

void check_finite(std::string_view what, const Tensor& values, const std::string& from) {
  if (!anomaly_on || !is_floating(values.dtype()) || values.numel() == 0) return;
  if (all(predicate(PredicateOp::is_finite, values)).item_integer() != 0) return;
  const bool has_nan = any(predicate(PredicateOp::is_nan, values)).item_integer() != 0;
  fail(ErrorKind::invalid_argument, "detect_anomaly",
       fmt::format("{}{} contains {}: shape {}, {}; {}",
                   anomaly_step >= 0 ? fmt::format("step {}: ", anomaly_step) : "", what,
                   has_nan ? "NaN" : "infinity", to_string(values.shape()),
                   to_string(values.dtype()), from));
}

std::string describe_inputs(std::span<const Tensor* const> inputs) {
  std::string text = "computed from";
  const char* separator = " ";
  for (const Tensor* input : inputs) {
    const bool named = input->record() != nullptr && !input->record()->name.empty();
    text += fmt::format("{}{}{}", separator, named ? "\"" + input->record()->name + "\" " : "",
                        to_string(input->shape()));
    separator = ", ";
  }
  return text;
}

void check_results(const char* name, std::span<const Tensor> results,
                   std::span<const Tensor* const> inputs) {
  if (!anomaly_on) return;
  for (const Tensor& result : results) {
    check_finite(fmt::format("the result of {}", name), result, describe_inputs(inputs));
  }
}

}  // namespace internal

Tensor sum_to(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  const int extra = gradient.n_dims() - shape.size();
  std::vector<int> axes;
  for (int axis = 0; axis < gradient.n_dims(); ++axis) {
    const bool added = axis < extra;
    if (added || (shape[axis - extra] == 1 && gradient.shape()[axis] != 1)) axes.push_back(axis);
  }
  if (axes.empty()) return gradient.reshape(shape);
  return sum(gradient, axes).reshape(shape);
}

}  // namespace causeway::autograd
