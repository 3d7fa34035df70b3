// The tape: which tensors require gradients, how they were computed, and the backward pass. The
// functions of this module compute with those of causeway/tensor and record the operation if an
// input is tracked. Functions of causeway/tensor record nothing.
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

// Receives the complete gradient of a tensor; may return a replacement.
using Hook = std::function<std::optional<Tensor>(const Tensor& gradient)>;
// Takes the gradient of a leaf.
using Receiver = std::function<void(const Tensor& gradient)>;

// The tape's record of one tensor.
struct Record {
  Shape shape;
  DType dtype = DType::f32;
  Device device;
  std::string name;                // of a parameter, for messages
  bool wanted = true;              // false: frozen leaf
  std::shared_ptr<Node> node;      // the operation that computed it; null for a leaf
  int output = 0;                  // index among the node's results
  std::optional<Tensor> gradient;  // of a leaf, accumulated over backward passes
  std::vector<std::pair<std::uint64_t, Hook>> hooks;
  Receiver receiver;  // of a leaf: takes its gradients, which are then not stored
};

// The interface of the backward pass to the gradient rule of one operation.
class Backward {
 public:
  virtual ~Backward() = default;
  // The gradient of a result; zeros if nothing depends on it.
  virtual Tensor gradient(int output = 0) = 0;
  // The gradient of a result; nullopt if nothing depends on it.
  virtual std::optional<Tensor> gradient_if_any(int output) = 0;
  // Whether the gradient of an input is needed.
  virtual bool needs(int input) const = 0;
  // Adds to the gradient of an input. The shape must match; the dtype is converted.
  virtual void accumulate(int input, const Tensor& gradient) = 0;
  // Removes and returns the gradient that an input has so far, for a rule that adds to it in a
  // fused kernel and accumulates the sum.
  virtual std::optional<Tensor> take_gradient(int input) = 0;
  // A second stream for gradients of `inputs`, if all of them are leaves with no other use;
  // otherwise the current stream. The work overlaps with the rest of the backward pass. It may read
  // `reads`, which are kept alive until it is done, and write tensors allocated before this call.
  virtual StreamView side_stream(std::initializer_list<int> inputs, std::vector<Tensor> reads) = 0;
  // Whether the gradient of the only result is the 1 that backward() started with.
  virtual bool is_seed() const = 0;
};
using Rule = std::function<void(Backward&)>;

bool requires_grad(const Tensor& x);
bool is_leaf(const Tensor& x);
// Makes a tensor a leaf that requires a gradient, or freezes it, for all handles copied from it
// since. Floating types only.
void set_requires_grad(Tensor& x, bool wanted);
// An untracked handle of the same memory.
Tensor detach(const Tensor& x);
// The gradient of a leaf; nullopt before the first backward pass.
std::optional<Tensor> gradient_of(const Tensor& x);
// Must have the leaf's shape, dtype and device.
void set_gradient(const Tensor& x, std::optional<Tensor> gradient);

// Computes gradients from `root` and accumulates them into its leaves. Without `gradient` the root
// must have one element. Releases the tape's memory unless `retain`.
void backward(const Tensor& root, const std::optional<Tensor>& gradient = {}, bool retain = false);

// Hooks of a tracked tensor; the returned id is for remove_hook.
std::uint64_t add_hook(const Tensor& x, Hook hook);
void remove_hook(const Tensor& x, std::uint64_t id);
// Passes the gradients of a leaf to `receiver`, after its hooks, instead of storing them; null
// stores them again. It is called during the backward pass, when the current stream can read the
// gradient, and in the same order in every run.
void set_receiver(const Tensor& x, Receiver receiver);

// Whether operations of this thread are recorded.
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

// Within its scope a result or gradient with NaN or infinity is an error that names the operation,
// the tensors and `step`. Synchronises after every operation.
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

// Number of live nodes, for leak tests.
std::int64_t live_nodes();

// The inputs and results whose elements a gradient rule reads (null: none). Writing to one of them
// before the backward pass is an error.
using Reads = std::vector<const Tensor*>;

namespace internal {
bool wanted(std::span<const Tensor* const> inputs);
void note(const char* name, std::span<Tensor> results, std::span<const Tensor* const> inputs,
          const Reads& reads, Rule rule);
void check_results(const char* name, std::span<const Tensor> results,
                   std::span<const Tensor* const> inputs);
}  // namespace internal

// Records that `result` was computed from `inputs`, if a gradient is needed. The rule owns what it
// needs; it must not hold a tracked `result`.
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
