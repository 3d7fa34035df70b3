// One operation on the tape; for the files of this room that walk it.
#pragma once

#include "causeway/autograd/tape.h"

#include <string_view>

namespace causeway::autograd {

struct ResultInfo {
  Shape shape;
  DType dtype;
  Device device;
};

// Memory that a rule reads, and how often it had been written to.
struct KnownMemory {
  std::shared_ptr<Storage> storage;
  std::uint64_t n_writes;
};

struct Node {
  Node();
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name = "";
  std::uint64_t number;  // nodes count up: what was made later has the larger one
  std::vector<std::shared_ptr<Record>> inputs;  // none where no gradient is wanted
  std::vector<ResultInfo> results;
  Rule rule;  // empty once the walk back has passed
  std::vector<KnownMemory> reads;
};

namespace internal {
// Throws where a gradient that a user gave does not suit the tensor it is for.
void require_gradient(const char* name, const Tensor& gradient, const Record& record);
// Whether this thread is in the scope of a DetectAnomaly.
bool watching();
// Collects the tracked tensors that were there before it and that operations of this thread use,
// each once.
class Witness {
 public:
  Witness();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  void look_at(const Tensor& x);
  std::vector<Tensor> leaves;
  std::vector<Tensor> results;  // of noted operations

 private:
  Witness* before_;
  std::uint64_t first_node_;  // that was not there before
};
// Walks back from all `roots` at once, with a gradient each, taking `ends` for where the tape
// begins: the gradients they would hold.
std::vector<std::optional<Tensor>> backward_until(std::span<const Tensor> roots,
                                                  const std::vector<Tensor>& gradients,
                                                  std::span<const Tensor> ends);
// Throws in the scope of a DetectAnomaly where `values` are not all finite.
void check_finite(std::string_view what, const Tensor& values, const std::string& from);
}  // namespace internal

}  // namespace causeway::autograd
