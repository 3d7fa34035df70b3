// Streams and CUDA graphs.
#include "causeway/runtime/stream.h"

#include "causeway/core/error.h"
#include "causeway/runtime/graph.h"
#include "python/bind.h"
#include "python/casters.h"

#include <memory>
#include <optional>
#include <utility>

namespace causeway::python {

namespace {

// An owned stream, or a view of an external one.
struct AnyStream {
  StreamView view;
  std::shared_ptr<Stream> owner;

  std::intptr_t handle() const { return reinterpret_cast<std::intptr_t>(view.handle()); }
};

AnyStream external(std::intptr_t handle, Device device) {
  if (device.is_cpu()) {
    fail(ErrorKind::invalid_argument, "Stream.external", "the CPU has no stream handles");
  }
  return {StreamView(device, reinterpret_cast<CUstream_st*>(handle)), nullptr};
}

// A context manager over StreamGuard.
struct StreamScope {
  AnyStream stream;
  std::optional<StreamGuard> guard;
};

void wait_for(const AnyStream& self, const AnyStream& other) {
  Event reached(other.view.device());
  reached.record(other.view);
  self.view.wait(reached);
}

void bind_stream_class(nb::module_& module) {
  nb::class_<AnyStream>(module, "Stream", "A stream: an ordered queue of work on one device.")
      .def(
          "__init__",
          [](AnyStream* self, Device device) {
            std::shared_ptr<Stream> owner = std::make_shared<Stream>(device);
            new (self) AnyStream{owner->view(), owner};
          },
          "device"_a)
      .def_static("external", external, "handle"_a, "device"_a = "cuda:0",
                  "An external stream, by its CUDA handle; it must outlive all objects that use "
                  "it.")
      .def_prop_ro(
          "device", [](const AnyStream& self) { return self.view.device(); }, "The device.")
      .def_prop_ro("handle", &AnyStream::handle, "The CUDA handle; 0 on the CPU.")
      .def_prop_ro(
          "done", [](const AnyStream& self) { return self.view.done(); },
          "Whether all queued work is done.")
      .def(
          "synchronize",
          [](const AnyStream& self) { without_gil([&] { self.view.synchronize(); }); },
          "Waits for all queued work and raises its errors.")
      .def("wait", wait_for, "other"_a,
           "Makes later work on this stream wait for the work queued on the other stream.")
      .def(
          "__eq__", [](const AnyStream& a, const AnyStream& b) { return a.view == b.view; },
          "other"_a, nb::is_operator(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const AnyStream& self) { return static_cast<Py_hash_t>(self.handle()); });
}

void bind_current(nb::module_& module) {
  module.def(
      "current_stream",
      [](Device device) {
        return AnyStream{current_stream(device), nullptr};
      },
      "device"_a, "This thread's current stream on the device.");
  module.def(
      "synchronize", [](Device device) { without_gil([&] { synchronize(device); }); },
      "device"_a = "auto", "Waits for all work on the device and raises its errors.");
  nb::class_<StreamScope>(module, "stream", "Context manager that makes a stream the current one.")
      .def(
          "__init__",
          [](StreamScope* self, const AnyStream& chosen) {
            new (self) StreamScope{chosen, std::nullopt};
          },
          "stream"_a)
      .def("__enter__",
           [](StreamScope& self) {
             self.guard.emplace(self.stream.view);
             return self.stream;
           })
      .def(
          "__exit__", [](StreamScope& self, nb::args) { self.guard.reset(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

void bind_graph(nb::module_& module) {
  nb::class_<Graph>(module, "_RecordedGraph", "A CUDA graph.")
      .def(
          "replay", [](const Graph& self, const AnyStream& stream) { self.replay(stream.view); },
          "stream"_a, "Queues the captured work.");
  module.def(
      "_record_graph",
      [](const AnyStream& stream, nb::handle body) {
        return Graph::capture(stream.view, [&] { body(); });
      },
      "stream"_a, "body"_a,
      nb::sig("def _record_graph(stream: Stream, body: collections.abc.Callable[[], object]) "
              "-> _RecordedGraph"),
      "Runs body and captures the work it queues on the stream.");
}

}  // namespace

void bind_streams(nb::module_& module) {
  bind_stream_class(module);
  bind_current(module);
  bind_graph(module);
}

}  // namespace causeway::python
