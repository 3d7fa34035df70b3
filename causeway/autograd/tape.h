// The tape: which tensors want gradients, how they came about, and the walk back. The functions of
// this room compute with those of causeway/tensor and note on the tape what they did; what they are
// given tracked, they return tracked. Functions of causeway/tensor themselves note nothing.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causeway::autograd {

struct Node;

// Sees a tensor's gradient when it is complete, and may put another in its place.
using Hook = std::function<std::optional<Tensor>(const Tensor& gradient)>;

// What the tape knows of one tensor.
struct Record {
  Shape shape;
  DType dtype = DType::f32;
  Device device;
  std::string name;                // of a parameter, for messages
  bool wanted = true;              // whether its gradient is; a frozen leaf's is not
  std::shared_ptr<Node> node;      // what made it; none for a leaf
  int output = 0;                  // which of the node's results it is
  std::optional<Tensor> gradient;  // of a leaf, summed over backward calls
  std::vector<std::pair<std::uint64_t, Hook>> hooks;
};

// What a rule sees of the walk back through its operation.
class Backward {
 public:
  virtual ~Backward() = default;
  // The gradient of a result; zeros where nothing depended on it.
  virtual Tensor gradient(int output = 0) = 0;
  // The same; none where nothing depended on it.
  virtual std::optional<Tensor> gradient_if_any(int output) = 0;
  // Whether the gradient of an input is wanted at all.
  virtual bool needs(int input) const = 0;
  // Adds to the gradient of an input: of its shape; its dtype is brought about here.
  virtual void give(int input, const Tensor& gradient) = 0;
  // Takes away what others gave an input so far, for a rule that gives it back with its own share
  // added, as products do on their way.
  virtual std::optional<Tensor> take(int input) = 0;
  // A stream for work that only leaves among `inputs` wait for, if those are all of them: that work
  // then runs beside the rest of the walk. It reads `reads`, which are kept until it is done, and
  // writes tensors made before this call. Where there is no such stream, the current one.
  virtual StreamView aside(std::initializer_list<int> inputs, std::vector<Tensor> reads) = 0;
  // Whether the gradient of the only result is the plain 1 that backward() began with.
  virtual bool begins() const = 0;
};
using Rule = std::function<void(Backward&)>;

// Leaves.
bool requires_grad(const Tensor& x);
bool is_leaf(const Tensor& x);
// Makes a tensor a leaf whose gradient is wanted, or freezes it, for all handles of it that were
// taken since. Floating types only.
void set_requires_grad(Tensor& x, bool wanted);
// A handle of the same memory that is not tracked.
Tensor detach(const Tensor& x);
// The gradient a leaf holds; nothing before the first backward.
std::optional<Tensor> gradient_of(const Tensor& x);
// Of the leaf's shape, dtype and device.
void set_gradient(const Tensor& x, std::optional<Tensor> gradient);

// Walks back from `root`, adding to the gradient of every leaf it came from. Without a gradient of
// its own the root is one number. The tape's memory is released on the way unless `retain`.
void backward(const Tensor& root, const std::optional<Tensor>& gradient = {}, bool retain = false);

// Hooks of a tracked tensor; the number names it for remove_hook.
std::uint64_t add_hook(const Tensor& x, Hook hook);
void remove_hook(const Tensor& x, std::uint64_t id);

// Whether operations of this thread are noted.
bool recording();
class RecordingGuard {
 public:
  explicit RecordingGuard(bool on);
  ~RecordingGuard();
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  bool before_;
};
class NoGrad : public RecordingGuard {
 public:
  NoGrad() : RecordingGuard(false) {}
};

// Within its scope, a result or a gradient that holds NaN or infinity is an error which names the
// operation, the tensors and `step`. Every operation is waited for.
class DetectAnomaly {
 public:
  explicit DetectAnomaly(std::int64_t step = -1);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool before_;
  std::int64_t step_before_;
};

// How many nodes are alive, for tests of leaks.
std::int64_t live_nodes();

// The inputs and results whose elements a rule reads (null: none): where one is written to before
// the walk back comes by, that is an error.
using Reads = std::vector<const Tensor*>;

namespace internal {
bool wanted(std::span<const Tensor* const> inputs);
void note(const char* name, std::span<Tensor> results, std::span<const Tensor* const> inputs,
          const Reads& reads, Rule rule);
void check_results(const char* name, std::span<const Tensor> results,
                   std::span<const Tensor* const> inputs);
}  // namespace internal

// Notes that `result` was made from `inputs`, where that is wanted. The rule holds what it needs;
// it must not hold a tracked `result`.
template <class Make>
std::vector<Tensor> record_all(const char* name, std::vector<Tensor> results,
                               std::span<const Tensor* const> inputs, const Reads& reads,
                               Make&& rule) {
  if (internal::wanted(inputs)) {
    internal::note(name, results, inputs, reads, Rule(std::forward<Make>(rule)));
  }
  internal::check_results(name, results, inputs);
  return results;
}
template <class Make>
Tensor record(const char* name, Tensor result, std::span<const Tensor* const> inputs,
              const Reads& reads, Make&& rule) {
  const std::span<Tensor> results(&result, 1);
  if (internal::wanted(inputs)) {
    internal::note(name, results, inputs, reads, Rule(std::forward<Make>(rule)));
  }
  internal::check_results(name, results, inputs);
  return result;
}
template <class Make>
Tensor record(const char* name, Tensor result, std::initializer_list<const Tensor*> inputs,
              const Reads& reads, Make&& rule) {
  return record(name, std::move(result), std::span(inputs.begin(), inputs.size()), reads,
                std::forward<Make>(rule));
}

// `gradient` summed over the dimensions along which `shape` was broadcast.
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace causeway::autograd
