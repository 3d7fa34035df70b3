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
  // device. It must leave gradients as it found them (zero_grad), also when it throws.
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  StepGraph(Device device, Body body);

  // The first call with given shapes runs eagerly, the second captures a graph, later ones replay
  // it. Each call begins a dropout step (autograd/dropout.h). The results are valid until the next
  // call. When out of memory before commit(), it drops all graphs with their memory and runs the
  // step again; a second failure throws.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  // Called by the body before it changes weights: the step cannot be repeated from here on.
  void commit() { committed_ = true; }
  bool committed() const { return committed_; }

  // Takes memory for the largest step before any graph is captured, so that all of them share it
  // and a lack of memory shows at the start. Throws out_of_memory. Does nothing on the CPU.
  void reserve(std::size_t bytes) const;

  std::size_t n_graphs() const;  // number of captured shapes

 private:
  struct Recording {
    std::vector<Tensor> inputs;  // memory that the graph reads from
    std::optional<Graph> graph;
    std::vector<Tensor> results;
  };

  Recording& recording_for(const std::vector<Tensor>& inputs, bool& fresh);
  // Sets `begun` when the dropout step has begun on the device.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, bool& begun);
  void drop_recordings();

  Device device_;
  Body body_;
  std::optional<Stream> stream_;  // graphs are captured on their own stream
  std::shared_ptr<const GraphMemory> memory_;
  std::list<Recording> recordings_;
  bool committed_ = false;
};

}  // namespace causeway::autograd
