// The engine of the backward pass. A node runs when all gradients of its results are complete;
// among ready nodes the most recently created runs first, so that the order is deterministic.
#pragma once

#include "causeway/autograd/node.h"
#include "causeway/runtime/stream.h"

#include <deque>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace causeway::autograd {

class BackwardEngine {
 public:
  // From one tensor; `seed_is_one`: its gradient is the default 1.
  BackwardEngine(const Tensor& root, const Tensor& seed, bool seed_is_one, bool retain);
  // From several tensors, one gradient each, stopping at `ends`.
  BackwardEngine(std::span<const Tensor> roots, std::span<const Tensor> seeds,
                 std::span<const Tensor> ends);
  ~BackwardEngine();
  BackwardEngine(const BackwardEngine&) = delete;
  BackwardEngine& operator=(const BackwardEngine&) = delete;

  void run();
  // Removes and returns the gradient of one of the `ends`.
  std::optional<Tensor> gradient_at(const Tensor& end);

 private:
  // Limit of concurrent work on the side stream: the memory it reads cannot be freed yet.
  static constexpr std::size_t kMostSideWork = 3;

  // The gradient of one tensor while it accumulates.
  struct Pending {
    std::int64_t waiting = 0;  // uses of the tensor whose nodes have not run yet
    std::optional<Tensor> sum;
    bool owned = false;  // `sum` has its own memory and can be added to in place
  };
  struct Entry {
    std::shared_ptr<Node> node;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.node->number < b.node->number;
    }
  };
  struct NodeState {
    // The results that were reached, kept alive until the node runs.
    std::vector<std::shared_ptr<Record>> results;
    std::int64_t waiting = 0;  // results whose gradient is not complete
  };
  // Work on the side stream.
  struct SideWork {
    StreamView stream;
    std::vector<Tensor> reads;
    std::optional<Event> end;
    std::vector<std::pair<Record*, Tensor>> received;  // gradients that wait for this work

    void finish();
  };
  class Pass;  // the Backward of one rule

  void begin(std::span<const Tensor> roots, std::span<const Tensor> seeds);
  // Counts the uses of every tensor that `root` was computed from.
  void collect(const std::shared_ptr<Record>& root);
  void visit(Node& node);
  // Makes the current stream wait for side work, except for the latest `most`.
  void join(std::size_t most);
  // The gradient of a tensor is complete: runs its hooks; a leaf stores it, a node may become
  // ready.
  void complete(Record& record);
  void store(Record& record, Pending& pending);
  void add(Record& record, const Tensor& gradient, const char* from);

  bool retain_;
  std::optional<Tensor> one_;  // the gradient of the root, if it is the default 1
  std::uint64_t one_writes_ = 0;
  std::unordered_set<const Record*> ends_;
  std::unordered_map<Record*, Pending> pending_;
  std::unordered_map<Node*, NodeState> nodes_;
  std::priority_queue<Entry> ready_;
  std::deque<SideWork> side_work_;
};

}  // namespace causeway::autograd
