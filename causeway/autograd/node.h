// One operation on the tape; internal to this module.
#pragma once

#include "causeway/autograd/tape.h"

#include <string_view>

namespace causeway::autograd {

struct ResultInfo {
  Shape shape;
  DType dtype;
  Device device;
};

// Memory that a gradient rule reads, and its write count when recorded.
struct SavedMemory {
  std::shared_ptr<Storage> storage;
  std::uint64_t n_writes;
};

struct Node {
  Node();
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name = "";
  std::uint64_t number;                         // increases: later nodes have larger numbers
  std::vector<std::shared_ptr<Record>> inputs;  // null where no gradient is needed
  std::vector<ResultInfo> results;
  Rule rule;  // empty after the backward pass
  std::vector<SavedMemory> reads;
};

namespace internal {
// Throws if a user's gradient does not match the tensor's shape, dtype or device.
void require_gradient(const char* name, const Tensor& gradient, const Record& record);
// Whether this thread is in the scope of a DetectAnomaly.
bool anomaly_detection();
// Collects the tracked tensors that existed before it and that operations of this thread use, each
// once.
class UseRecorder {
 public:
  UseRecorder();
  ~UseRecorder();
  UseRecorder(const UseRecorder&) = delete;
  UseRecorder& operator=(const UseRecorder&) = delete;

  void note_use(const Tensor& x);
  std::vector<Tensor> leaves;
  std::vector<Tensor> results;  // of recorded operations

 private:
  UseRecorder* before_;
  std::uint64_t first_node_;  // first node created in its scope
};
// Runs the backward pass from all `roots`, one gradient each, down to `ends`; returns the gradients
// of `ends`.
std::vector<std::optional<Tensor>> backward_until(std::span<const Tensor> roots,
                                                  const std::vector<Tensor>& gradients,
                                                  std::span<const Tensor> ends);
// Within a DetectAnomaly scope, throws if `values` are not all finite.
void check_finite(std::string_view what, const Tensor& values, const std::string& from);
}  // namespace internal

}  // namespace causeway::autograd
