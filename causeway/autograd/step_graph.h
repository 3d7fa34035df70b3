// A training step that is captured as a CUDA graph once per input shape and then replayed. On the
// CPU it runs eagerly.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/runtime/graph.h"

#include <list>

namespace causeway::autograd {

class StepGraph {
 public:
  // Computes on `device`, returns what the caller needs (the loss), and never synchronises with the
  // device. It must leave gradients as it found them (zero_grad).
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  StepGraph(Device device, Body body);

  // The first call with given shapes runs eagerly, the second captures a graph, later ones replay
  // it. Each call begins a dropout step (autograd/dropout.h). The results are valid until the next
  // call.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  std::size_t n_graphs() const;  // number of captured shapes

 private:
  struct Recording {
    std::vector<Tensor> inputs;  // memory that the graph reads from
    std::optional<Graph> graph;
    std::vector<Tensor> results;
  };

  Recording& recording_for(const std::vector<Tensor>& inputs, bool& fresh);

  Device device_;
  Body body_;
  std::optional<Stream> stream_;  // graphs are captured on their own stream
  std::shared_ptr<const GraphMemory> memory_;
  std::list<Recording> recordings_;
};

}  // namespace causeway::autograd
