// Scheduling of the backward pass: order of nodes, sums of gradients, the side stream.
#include "causeway/autograd/backward_engine.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/runtime/graph.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

void add_in_place(const Tensor& sum, const Tensor& term) {
  if (sum.numel() == 0) return;
  const StreamView stream = current_stream(sum.device());
  const Tensor typed = term.to(sum.dtype());
  kernels::binary(stream, kernels::BinaryOp::add, operand(sum, stream), operand(typed, stream),
                  operand(sum, stream));
}

// This thread's stream for work that overlaps with the backward pass.
StreamView side_stream_of(Device device) {
  thread_local std::map<int, Stream> streams;
  const StreamView stream = streams.try_emplace(device.index, device).first->second.view();
  join_capture(stream);
  return stream;
}

void require_unchanged(const Node& node) {
  for (const SavedMemory& known : node.reads) {
    if (known.storage->n_writes == known.n_writes) continue;
    fail(ErrorKind::invalid_argument, "backward",
         fmt::format("{} needs its operands and result for the backward pass, but one was "
                     "written to since; write to a clone(), or after backward()",
                     node.name));
  }
}

}  // namespace

void BackwardEngine::SideWork::finish() {
  if (end.has_value()) return;
  end.emplace(stream.device());
  end->record(stream);
}

BackwardEngine::BackwardEngine(const Tensor& root, const Tensor& seed, bool seed_is_one,
                               bool retain)
    : retain_(retain) {
  if (seed_is_one && root.record()->hooks.empty()) {
    one_ = seed;
    one_writes_ = seed.storage()->n_writes;
  }
  begin({&root, 1}, {&seed, 1});
}

BackwardEngine::BackwardEngine(std::span<const Tensor> roots, std::span<const Tensor> seeds,
                               std::span<const Tensor> ends)
    : retain_(false) {
  for (const Tensor& end : ends) ends_.insert(end.record().get());
  begin(roots, seeds);
}

BackwardEngine::~BackwardEngine() {
  for (SideWork& work : side_work_) work.received.clear();  // a rule has failed
  try {
    join(0);
  } catch (const std::exception& problem) {
    logger::error(fmt::format("at the end of the backward pass: {}", problem.what()));
  }
}

void BackwardEngine::run() {
  while (!ready_.empty()) {
    const std::shared_ptr<Node> node = ready_.top().node;
    ready_.pop();
    visit(*node);
  }
  join(0);
}

std::optional<Tensor> BackwardEngine::gradient_at(const Tensor& end) {
  return std::exchange(pending_[end.record().get()].sum, std::nullopt);
}

void BackwardEngine::begin(std::span<const Tensor> roots, std::span<const Tensor> seeds) {
  for (const Tensor& root : roots) collect(root.record());
  std::vector<Record*> starts;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Record* record = roots[i].record().get();
    add(*record, seeds[i], "backward");
    if (std::find(starts.begin(), starts.end(), record) == starts.end()) starts.push_back(record);
  }
  // A root that other roots depend on completes after them.
  for (Record* record : starts) {
    if (pending_[record].waiting == 0) complete(*record);
  }
}

void BackwardEngine::collect(const std::shared_ptr<Record>& root) {
  std::vector<std::shared_ptr<Node>> stack;
  const auto reach = [&](const std::shared_ptr<Record>& record) {
    if (!pending_.try_emplace(record.get()).second || record->node == nullptr) return;
    if (ends_.contains(record.get())) return;
    NodeState& state = nodes_[record->node.get()];
    if (state.results.empty()) stack.push_back(record->node);
    state.results.push_back(record);
    ++state.waiting;
  };
  reach(root);
  while (!stack.empty()) {
    const std::shared_ptr<Node> node = std::move(stack.back());
    stack.pop_back();
    for (const auto& input : node->inputs) {
      if (input == nullptr) continue;
      reach(input);
      ++pending_[input.get()].waiting;
    }
  }
}

void BackwardEngine::join(std::size_t most) {
  for (; side_work_.size() > most; side_work_.pop_front()) {
    SideWork& first = side_work_.front();
    first.finish();
    current_stream(first.stream.device()).wait(*first.end);
    for (const auto& [record, gradient] : first.received) record->receiver(gradient);
  }
}

void BackwardEngine::complete(Record& record) {
  if (ends_.contains(&record)) return;  // the enclosing backward pass runs its hooks
  Pending& pending = pending_[&record];
  if (pending.sum.has_value()) {
    for (const auto& [id, hook] : std::vector(record.hooks)) {
      std::optional<Tensor> other = hook(*pending.sum);
      if (!other.has_value()) continue;
      internal::require_gradient("register_hook", *other, record);
      pending.sum = detach(*other);
      pending.owned = false;
    }
  }
  if (record.node == nullptr) {
    store(record, pending);
    return;
  }
  NodeState& state = nodes_[record.node.get()];
  if (--state.waiting == 0) ready_.push({record.node});
}

void BackwardEngine::store(Record& record, Pending& pending) {
  if (!pending.sum.has_value()) return;
  if (record.receiver) {
    const Tensor sum = *std::exchange(pending.sum, std::nullopt);
    if (side_work_.empty()) {
      record.receiver(sum);
    } else {
      side_work_.back().received.emplace_back(&record, sum);
    }
    return;
  }
  if (record.gradient.has_value()) {  // then none of it is on the side stream
    add_in_place(*record.gradient, *pending.sum);
    ++record.gradient->storage()->n_writes;
  } else {
    // Shared memory must not become a gradient, which is accumulated in place.
    Tensor sum = std::move(*pending.sum);
    const bool alone = sum.storage().use_count() == 1 && sum.is_contiguous();
    if (!alone) join(0);
    record.gradient = alone ? detach(sum) : detach(sum).clone();
  }
  pending.sum.reset();
}

void BackwardEngine::add(Record& record, const Tensor& gradient, const char* from) {
  if (gradient.shape() != record.shape) {
    fail(ErrorKind::internal, from,
         fmt::format("the gradient rule returned shape {} for an input of shape {}",
                     to_string(gradient.shape()), to_string(record.shape)));
  }
  const Tensor typed = detach(gradient.to(record.dtype).to(record.device));
  Pending& pending = pending_[&record];
  if (!pending.sum.has_value()) {
    pending.sum = typed;
  } else if (pending.owned) {
    add_in_place(*pending.sum, typed);
  } else {
    Tensor sum = Tensor::empty(record.shape, record.dtype, record.device);
    const StreamView stream = current_stream(record.device);
    if (sum.numel() > 0) {
      kernels::binary(stream, kernels::BinaryOp::add, operand(*pending.sum, stream),
                      operand(typed, stream), operand(sum, stream));
    }
    pending.sum = std::move(sum);
    pending.owned = true;
  }
}

// The interface of one gradient rule to the engine.
class BackwardEngine::Pass : public Backward {
 public:
  Pass(BackwardEngine& engine, Node& node, std::vector<std::optional<Tensor>> gradients)
      : engine_(engine), node_(node), gradients_(std::move(gradients)) {}

  Tensor gradient(int output) override {
    auto& found = gradients_[static_cast<std::size_t>(output)];
    if (!found.has_value()) {
      const ResultInfo& info = node_.results[static_cast<std::size_t>(output)];
      found = zeros(info.shape, info.dtype, info.device);
    }
    return *found;
  }

  std::optional<Tensor> gradient_if_any(int output) override {
    return gradients_[static_cast<std::size_t>(output)];
  }

  bool needs(int input) const override {
    return node_.inputs[static_cast<std::size_t>(input)] != nullptr;
  }

  void accumulate(int input, const Tensor& gradient) override {
    const auto& record = node_.inputs[static_cast<std::size_t>(input)];
    if (record == nullptr) return;
    internal::check_finite(fmt::format("the gradient of input {1}{2} of {0}", node_.name, input,
                                       record->name.empty() ? "" : " \"" + record->name + "\""),
                           gradient, "the backward pass stopped here");
    engine_.add(*record, gradient, node_.name);
  }

  std::optional<Tensor> take_gradient(int input) override {
    const auto& record = node_.inputs[static_cast<std::size_t>(input)];
    if (record == nullptr) return std::nullopt;
    Pending& pending = engine_.pending_[record.get()];
    pending.owned = false;
    return std::exchange(pending.sum, std::nullopt);
  }

  StreamView side_stream(std::initializer_list<int> inputs, std::vector<Tensor> reads) override {
    const Device device = reads.front().device();
    const StreamView current = current_stream(device);
    if (device.is_cpu() || internal::anomaly_detection()) return current;
    for (const int input : inputs) {
      Record* record = node_.inputs[static_cast<std::size_t>(input)].get();
      if (record == nullptr) continue;
      const Pending& pending = engine_.pending_[record];
      const bool only_here = record->node == nullptr && pending.waiting == 1 &&
                             !pending.sum.has_value() && !record->gradient.has_value() &&
                             record->hooks.empty();
      if (!only_here) return current;
    }
    const StreamView stream = side_stream_of(device);
    stream.wait(current);
    if (!engine_.side_work_.empty()) engine_.side_work_.back().finish();
    engine_.side_work_.push_back({stream, std::move(reads), std::nullopt, {}});
    return stream;
  }

  bool is_seed() const override {
    return engine_.one_.has_value() && gradients_.size() == 1 && gradients_[0].has_value() &&
           gradients_[0]->storage() == engine_.one_->storage() &&
           engine_.one_->storage()->n_writes == engine_.one_writes_;
  }

 private:
  BackwardEngine& engine_;
  Node& node_;
  std::vector<std::optional<Tensor>> gradients_;
};

void BackwardEngine::visit(Node& node) {
  const std::vector<std::shared_ptr<Record>> results = std::move(nodes_[&node].results);
  std::vector<std::optional<Tensor>> gradients(node.results.size());
  bool any = false;
  for (const auto& record : results) {
    std::optional<Tensor>& sum = pending_[record.get()].sum;
    any = any || sum.has_value();
    gradients[static_cast<std::size_t>(record->output)] = std::exchange(sum, std::nullopt);
  }
  if (!node.rule) {
    fail(ErrorKind::invalid_argument, "backward",
         fmt::format("the tape of {} was released by an earlier backward pass; pass "
                     "retain_graph=True to it, or compute the loss again",
                     node.name));
  }
  if (any) {
    require_unchanged(node);
    Pass pass(*this, node, std::move(gradients));
    with_context(fmt::format("in the backward pass of {}", node.name), [&] { node.rule(pass); });
  }
  if (!side_work_.empty()) side_work_.back().finish();
  join(kMostSideWork);
  // Release the rule's memory before the inputs' nodes run.
  std::vector<std::shared_ptr<Record>> inputs = node.inputs;
  if (!retain_) {
    node.rule = nullptr;
    node.reads.clear();
    node.inputs.clear();
  }
  for (const auto& input : inputs) {
    if (input == nullptr) continue;
    if (--pending_[input.get()].waiting == 0) complete(*input);
  }
}

}  // namespace causeway::autograd
