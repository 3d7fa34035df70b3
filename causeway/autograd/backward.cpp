// The walk back through the tape. A node's turn comes when everything that used its results has had
// its own; among those that are ready the latest made goes first, so that the order is fixed.
#include "causeway/autograd/node.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/runtime/graph.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>
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

// This thread's stream for what runs beside a walk.
StreamView stream_beside(Device device) {
  thread_local std::map<int, Stream> streams;
  const StreamView stream = streams.try_emplace(device.index, device).first->second.view();
  join_capture(stream);
  return stream;
}

// Work that runs beside a walk.
struct Aside {
  StreamView stream;
  std::vector<Tensor> reads;
  std::optional<Event> end;

  void finish() {
    if (end.has_value()) return;
    end.emplace(stream.device());
    end->record(stream);
  }
};

// A gradient on its way to one tensor.
struct Pending {
  std::int64_t waiting = 0;  // uses of the tensor that have not given yet
  std::optional<Tensor> sum;
  bool owned = false;  // whether `sum` is memory of its own, to be added to in place
};

class Walk {
 public:
  // From one tensor, with a gradient that may be the plain 1.
  Walk(const Tensor& root, const Tensor& seed, bool seed_is_one, bool retain) : retain_(retain) {
    if (seed_is_one && root.record()->hooks.empty()) {
      one_ = seed;
      one_writes_ = seed.storage()->n_writes;
    }
    begin({&root, 1}, {&seed, 1});
  }
  // From some, with a gradient each; it does not go beyond `ends`.
  Walk(std::span<const Tensor> roots, std::span<const Tensor> seeds, std::span<const Tensor> ends)
      : retain_(false) {
    for (const Tensor& end : ends) ends_.insert(end.record().get());
    begin(roots, seeds);
  }
  ~Walk() {
    try {
      join(0);
    } catch (const std::exception& problem) {
      logger::error(fmt::format("while leaving the walk back: {}", problem.what()));
    }
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  void run() {
    while (!ready_.empty()) {
      const std::shared_ptr<Node> node = ready_.top().node;
      ready_.pop();
      visit(*node);
    }
    join(0);
  }

  // The gradient of one of the ends.
  std::optional<Tensor> gradient_at(const Tensor& end) {
    return std::exchange(pending_[end.record().get()].sum, std::nullopt);
  }

 private:
  // So much runs beside the walk at most: what it reads cannot be freed meanwhile.
  static constexpr std::size_t kMostAside = 3;

  struct Entry {
    std::shared_ptr<Node> node;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.node->number < b.node->number;
    }
  };
  struct NodeState {
    // Those that were reached: nobody else may hold them until the node has its turn.
    std::vector<std::shared_ptr<Record>> results;
    std::int64_t waiting = 0;  // how many of them are not complete
  };

  class Pass;

  void begin(std::span<const Tensor> roots, std::span<const Tensor> seeds) {
    for (const Tensor& root : roots) collect(root.record());
    std::vector<Record*> starts;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Record* record = roots[i].record().get();
      add(*record, seeds[i], "backward");
      if (std::find(starts.begin(), starts.end(), record) == starts.end()) starts.push_back(record);
    }
    // One that others came from has its turn after them.
    for (Record* record : starts) {
      if (pending_[record].waiting == 0) complete(*record);
    }
  }

  // Counts, for all that `root` came from, how often each tensor was used.
  void collect(const std::shared_ptr<Record>& root) {
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

  void visit(Node& node);
  static void require_unchanged(const Node& node);

  // Has the walk wait for what runs beside it, but for the latest `most`.
  void join(std::size_t most) {
    for (; asides_.size() > most; asides_.pop_front()) {
      Aside& first = asides_.front();
      first.finish();
      current_stream(first.stream.device()).wait(*first.end);
    }
  }

  // All uses of a tensor have given: its hooks run, a leaf keeps the sum, a node comes nearer.
  void complete(Record& record) {
    if (ends_.contains(&record)) return;  // hooks and all are another walk's
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
      keep(record, pending);
      return;
    }
    NodeState& state = nodes_[record.node.get()];
    if (--state.waiting == 0) ready_.push({record.node});
  }

  void keep(Record& record, Pending& pending) {
    if (!pending.sum.has_value()) return;
    if (record.gradient.has_value()) {  // then nothing of it was made aside
      add_in_place(*record.gradient, *pending.sum);
      ++record.gradient->storage()->n_writes;
    } else {
      // Memory that others see too must not become a gradient, which is added to in place.
      Tensor sum = std::move(*pending.sum);
      const bool alone = sum.storage().use_count() == 1 && sum.is_contiguous();
      if (!alone) join(0);
      record.gradient = alone ? detach(sum) : detach(sum).clone();
    }
    pending.sum.reset();
  }

  void add(Record& record, const Tensor& gradient, const char* from) {
    if (gradient.shape() != record.shape) {
      fail(ErrorKind::internal, from,
           fmt::format("its rule gave a gradient of shape {} for an input of shape {}",
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

  bool retain_;
  std::optional<Tensor> one_;  // what the walk began with, if that was a plain 1
  std::uint64_t one_writes_ = 0;
  std::unordered_set<const Record*> ends_;
  std::unordered_map<Record*, Pending> pending_;
  std::unordered_map<Node*, NodeState> nodes_;
  std::priority_queue<Entry> ready_;
  std::deque<Aside> asides_;
};

// One rule's view of the walk.
class Walk::Pass : public Backward {
 public:
  Pass(Walk& walk, Node& node, std::vector<std::optional<Tensor>> gradients)
      : walk_(walk), node_(node), gradients_(std::move(gradients)) {}

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

  void give(int input, const Tensor& gradient) override {
    const auto& record = node_.inputs[static_cast<std::size_t>(input)];
    if (record == nullptr) return;
    internal::check_finite(
        fmt::format("the gradient that {} gives its input {}{}", node_.name, input,
                    record->name.empty() ? "" : " \"" + record->name + "\""),
        gradient, "the walk back stopped here");
    walk_.add(*record, gradient, node_.name);
  }

  std::optional<Tensor> take(int input) override {
    const auto& record = node_.inputs[static_cast<std::size_t>(input)];
    if (record == nullptr) return std::nullopt;
    Pending& pending = walk_.pending_[record.get()];
    pending.owned = false;
    return std::exchange(pending.sum, std::nullopt);
  }

  StreamView aside(std::initializer_list<int> inputs, std::vector<Tensor> reads) override {
    const Device device = reads.front().device();
    const StreamView current = current_stream(device);
    if (device.is_cpu() || internal::watching()) return current;
    for (const int input : inputs) {
      Record* record = node_.inputs[static_cast<std::size_t>(input)].get();
      if (record == nullptr) continue;
      const Pending& pending = walk_.pending_[record];
      const bool only_here = record->node == nullptr && pending.waiting == 1 &&
                             !pending.sum.has_value() && !record->gradient.has_value() &&
                             record->hooks.empty();
      if (!only_here) return current;
    }
    const StreamView stream = stream_beside(device);
    stream.wait(current);
    if (!walk_.asides_.empty()) walk_.asides_.back().finish();
    walk_.asides_.push_back({stream, std::move(reads), std::nullopt});
    return stream;
  }

  bool begins() const override {
    return walk_.one_.has_value() && gradients_.size() == 1 && gradients_[0].has_value() &&
           gradients_[0]->storage() == walk_.one_->storage() &&
           walk_.one_->storage()->n_writes == walk_.one_writes_;
  }

 private:
  Walk& walk_;
  Node& node_;
  std::vector<std::optional<Tensor>> gradients_;
};

void Walk::require_unchanged(const Node& node) {
  for (const KnownMemory& known : node.reads) {
    if (known.storage->n_writes == known.n_writes) continue;
    fail(ErrorKind::invalid_argument, "backward",
         fmt::format("{} needs its operands and result on the way back, and one was written to "
                     "since; write to a clone(), or after backward()",
                     node.name));
  }
}

void Walk::visit(Node& node) {
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
         fmt::format("the tape behind {} was released by an earlier backward; pass "
                     "retain_graph=True to that one, or compute the loss again",
                     node.name));
  }
  if (any) {
    require_unchanged(node);
    Pass pass(*this, node, std::move(gradients));
    with_context(fmt::format("going back through {}", node.name), [&] { node.rule(pass); });
  }
  if (!asides_.empty()) asides_.back().finish();
  join(kMostAside);
  // The rule's memory goes before the inputs' turn comes.
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

}  // namespace

void backward(const Tensor& root, const std::optional<Tensor>& gradient, bool retain) {
  if (!requires_grad(root)) {
    fail(ErrorKind::invalid_argument, "backward",
         "nothing this tensor came from wants a gradient; call requires_grad_() on a leaf, and "
         "compute outside of no_grad()");
  }
  if (!gradient.has_value() && root.numel() != 1) {
    fail(ErrorKind::shape_mismatch, "backward",
         fmt::format("shape {} is not one number; sum it, or pass a gradient of that shape",
                     to_string(root.shape())));
  }
  if (gradient.has_value() && gradient->shape() != root.shape()) {
    fail(ErrorKind::shape_mismatch, "backward",
         fmt::format("a gradient of shape {} for a tensor of shape {}",
                     to_string(gradient->shape()), to_string(root.shape())));
  }
  const NoGrad plain;
  const Tensor seed = gradient.has_value() ? detach(gradient->to(root.dtype()).to(root.device()))
                                           : ones(root.shape(), root.dtype(), root.device());
  Walk walk(root, seed, !gradient.has_value(), retain);
  walk.run();
}

std::vector<std::optional<Tensor>> internal::backward_until(std::span<const Tensor> roots,
                                                            const std::vector<Tensor>& gradients,
                                                            std::span<const Tensor> ends) {
  const NoGrad plain;
  Walk walk(roots, gradients, ends);
  walk.run();
  std::vector<std::optional<Tensor>> found;
  for (const Tensor& end : ends) found.push_back(walk.gradient_at(end));
  return found;
}

}  // namespace causeway::autograd
