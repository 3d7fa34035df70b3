// A training step that is recorded once for every shape of its inputs and replayed from then on. On
// the CPU it simply runs.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/runtime/graph.h"

#include <list>

namespace causeway::autograd {

class StepGraph {
 public:
  // Computes on `device` with what it is given, returns what the caller wants to see (the loss),
  // and never waits for the device. It ends with the gradients as it found them (zero_grad).
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  StepGraph(Device device, Body body);

  // The first call with some shapes runs the body as it is, the second records it, others replay.
  // Each begins a step (autograd/dropout.h). The results hold until the next call.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  std::size_t n_graphs() const;  // how many shapes were recorded

 private:
  struct Recording {
    std::vector<Tensor> inputs;  // where the graph reads from
    std::optional<Graph> graph;
    std::vector<Tensor> results;
  };

  Recording& recording_for(const std::vector<Tensor>& inputs, bool& fresh);

  Device device_;
  Body body_;
  std::optional<Stream> stream_;  // graphs are recorded beside the default stream
  std::shared_ptr<const GraphMemory> memory_;
  std::list<Recording> recordings_;
};

}  // namespace causeway::autograd
