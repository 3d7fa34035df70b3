#include "causeway/autograd/step_graph.h"

#include "causeway/autograd/dropout.h"

#include <algorithm>

namespace causeway::autograd {

namespace {

bool alike(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.shape() == y.shape() && x.dtype() == y.dtype();
  });
}

}  // namespace

StepGraph::StepGraph(Device device, Body body) : device_(device), body_(std::move(body)) {
  if (device.is_cpu()) return;
  stream_.emplace(device);
  memory_ = std::make_shared<GraphMemory>(device);
}

std::size_t StepGraph::n_graphs() const {
  return static_cast<std::size_t>(
      std::count_if(recordings_.begin(), recordings_.end(),
                    [](const Recording& entry) { return entry.graph.has_value(); }));
}

StepGraph::Recording& StepGraph::recording_for(const std::vector<Tensor>& inputs, bool& fresh) {
  for (Recording& entry : recordings_) {
    if (!alike(entry.inputs, inputs)) continue;
    fresh = false;
    return entry;
  }
  fresh = true;
  Recording& entry = recordings_.emplace_back();
  for (const Tensor& input : inputs) {
    entry.inputs.push_back(Tensor::empty(input.shape(), input.dtype(), device_));
  }
  return entry;
}

std::vector<Tensor> StepGraph::operator()(const std::vector<Tensor>& inputs) {
  if (device_.is_cpu()) {
    begin_step(device_);
    return body_(inputs);
  }
  bool fresh = false;
  Recording& entry = recording_for(inputs, fresh);
  const StreamView outer = current_stream(device_);
  stream_->view().wait(outer);
  {
    const StreamGuard guard(*stream_);
    for (std::size_t i = 0; i < inputs.size(); ++i) entry.inputs[i].copy_from(inputs[i]);
    const auto run = [&] {
      begin_step(device_);
      entry.results = body_(entry.inputs);
    };
    if (fresh) {
      memory_->use(*stream_, run);
    } else {
      if (!entry.graph.has_value()) {
        entry.results.clear();
        entry.graph.emplace(Graph::capture(*stream_, run, memory_));
      }
      entry.graph->replay(*stream_);
    }
  }
  outer.wait(stream_->view());
  return entry.results;
}

}  // namespace causeway::autograd
