#include "causeway/autograd/step_graph.h"

#include "causeway/autograd/dropout.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/runtime/pool.h"

#include <fmt/format.h>

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
  const MemoryScope scope("graph inputs");
  Recording entry;
  for (const Tensor& input : inputs) {
    entry.inputs.push_back(Tensor::empty(input.shape(), input.dtype(), device_));
  }
  return recordings_.emplace_back(std::move(entry));
}

std::vector<Tensor> StepGraph::operator()(const std::vector<Tensor>& inputs) {
  committed_ = false;
  if (device_.is_cpu()) {
    begin_step(device_);
    return body_(inputs);
  }
  bool begun = false;
  try {
    return run(inputs, begun);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory || committed_) throw;
    logger::warn(fmt::format("dropping {} recorded graphs: {}", n_graphs(), error.what()));
  }
  drop_recordings();
  if (begun) set_step(device_, current_step(device_) - 1);
  return run(inputs, begun);
}

std::vector<Tensor> StepGraph::run(const std::vector<Tensor>& inputs, bool& begun) {
  bool fresh = false;
  Recording& entry = recording_for(inputs, fresh);
  const StreamView outer = current_stream(device_);
  stream_->view().wait(outer);
  {
    const StreamGuard guard(*stream_);
    for (std::size_t i = 0; i < inputs.size(); ++i) entry.inputs[i].copy_from(inputs[i]);
    const auto step = [&] {
      begin_step(device_);
      begun = fresh;  // a capture does not run
      entry.results = body_(entry.inputs);
    };
    if (fresh) {
      try {
        memory_->use(*stream_, step);
      } catch (...) {
        recordings_.pop_back();  // the next call with these shapes runs eagerly again
        throw;
      }
    } else {
      if (!entry.graph.has_value()) {
        entry.results.clear();
        entry.graph.emplace(Graph::capture(*stream_, step, memory_));
      }
      entry.graph->replay(*stream_);
    }
  }
  outer.wait(stream_->view());
  return entry.results;
}

void StepGraph::drop_recordings() {
  stream_->view().synchronize();
  recordings_.clear();
  memory_ = std::make_shared<GraphMemory>(device_);
  pool_of(device_).release_cached();
}

void StepGraph::reserve(std::size_t bytes) const {
  if (device_.is_cpu()) return;
  memory_->use(*stream_, [&] { pool_of(device_).reserve(bytes, *stream_); });
}

}  // namespace causeway::autograd
