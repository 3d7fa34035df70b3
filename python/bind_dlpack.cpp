// DLPack and the CUDA array interface: exchanging tensors with other libraries without a copy. The
// producer makes the consumer's stream wait for its own.
#include "causeway/tensor/dlpack.h"

#include "causeway/core/error.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/stream.h"
#include "python/array_interface.h"
#include "python/bind.h"
#include "python/casters.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace causeway::python {

namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

// A managed tensor is in a capsule whose name the consumer changes.
template <class Managed>
constexpr const char* kFresh = "dltensor";
template <>
constexpr const char* kFresh<DLManagedTensorVersioned> = "dltensor_versioned";
template <class Managed>
constexpr const char* kUsed = "used_dltensor";
template <>
constexpr const char* kUsed<DLManagedTensorVersioned> = "used_dltensor_versioned";

template <class Managed>
nb::object make_capsule(Managed* managed) {
  PyObject* capsule = PyCapsule_New(managed, kFresh<Managed>, [](PyObject* self) {
    if (PyCapsule_IsValid(self, kFresh<Managed>) == 0) return;  // consumed; the consumer frees it
    auto* held = static_cast<Managed*>(PyCapsule_GetPointer(self, kFresh<Managed>));
    held->deleter(held);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

template <class Managed>
Managed* open_capsule(nb::handle capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kFresh<Managed>));
  PyCapsule_SetName(capsule.ptr(), kUsed<Managed>);
  return managed;
}

Tensor from_capsule(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kFresh<DLManagedTensorVersioned>) != 0) {
    return dlpack::import_versioned(open_capsule<DLManagedTensorVersioned>(capsule));
  }
  if (PyCapsule_IsValid(capsule.ptr(), kFresh<DLManagedTensor>) != 0) {
    return dlpack::import_tensor(open_capsule<DLManagedTensor>(capsule));
  }
  fail(ErrorKind::invalid_argument, "from_dlpack",
       "expected an unused DLPack capsule; each can be consumed once");
}

StreamView external_stream(Device device, std::int64_t handle) {
  return {device, reinterpret_cast<CUstream_st*>(static_cast<std::intptr_t>(handle))};
}

constexpr std::int64_t kLegacyStream = 1;  // CUDA's own handle for the default stream

// Foreign CUDA memory is released when the last tensor that shares it is dropped, possibly with our
// work on it still queued. The stream on which the owner exported it (the default stream if
// unknown) then waits for that work.
Tensor returned_in_order(const Tensor& foreign, std::int64_t owner_stream = kLegacyStream) {
  const Device device = foreign.device();
  if (device.is_cpu()) return foreign;
  const std::shared_ptr<Tensor> owner(new Tensor(foreign), [device, owner_stream](Tensor* held) {
    try {
      if (!capturing()) external_stream(device, owner_stream).wait(current_stream(device));
    } catch (const Error&) {
      // The driver is unloaded or the device failed: there is no work to wait for.
    }
    delete held;
  });
  return Tensor::wrap(foreign.data(), foreign.shape(), foreign.strides(), foreign.dtype(), device,
                      owner, foreign.storage()->read_only);
}

// The consumer's stream in DLPack's numbering: None and 1 are the legacy default stream, 2 is the
// per-thread default stream, -1 requests no synchronisation.
void order_for_consumer(const Tensor& x, nb::handle stream) {
  if (x.device().is_cpu()) {
    if (stream.is_none()) return;
    fail(ErrorKind::invalid_argument, "__dlpack__", "a CPU tensor has no stream; pass None");
  }
  const std::int64_t number = stream.is_none() ? kLegacyStream : nb::cast<std::int64_t>(stream);
  if (number == -1) return;
  if (number < 1) {
    fail(ErrorKind::invalid_argument, "__dlpack__",
         "stream " + std::to_string(number) +
             " is ambiguous; pass None, 1, 2, -1 or a stream's handle");
  }
  const StreamView consumer = external_stream(x.device(), number);
  consumer.wait(current_stream(x.device()));
  x.storage()->buffer.used_on(consumer);
}

// The tensor on the consumer's device, copied if necessary.
Tensor on_requested_device(const Tensor& x, nb::handle dl_device, nb::handle copy) {
  const bool never = !copy.is_none() && !nb::cast<bool>(copy);
  const bool always = !copy.is_none() && nb::cast<bool>(copy);
  Device target = x.device();
  if (!dl_device.is_none()) {
    const auto kind = nb::cast<int>(nb::object(dl_device[0]));
    const auto index = nb::cast<int>(nb::object(dl_device[1]));
    if (kind != 1 && kind != 2)
      throw nb::buffer_error("only the CPU and CUDA devices are supported");
    target = kind == 1 ? Device::cpu() : Device::cuda(index);
  }
  if (target != x.device()) {
    if (never) throw nb::buffer_error("copy=False, but another device needs a copy");
    return without_gil([&] { return x.to(target); });
  }
  return always ? without_gil([&] { return x.clone(); }) : x;
}

nb::object to_dlpack(const Tensor& x, nb::handle stream, nb::handle max_version,
                     nb::handle dl_device, nb::handle copy) {
  const bool as_is = dl_device.is_none() && copy.is_none();
  const Tensor& tensor = as_is ? x : on_requested_device(x, dl_device, copy);
  order_for_consumer(tensor, stream);
  const bool versioned = !max_version.is_none() && nb::cast<int>(nb::object(max_version[0])) >= 1;
  if (versioned) return make_capsule(dlpack::export_versioned(tensor));
  if (tensor.storage()->read_only) {
    throw nb::buffer_error("a read-only tensor needs a consumer with DLPack 1.0 or later");
  }
  return make_capsule(dlpack::export_tensor(tensor));
}

nb::tuple dlpack_device(const Tensor& x) {
  const dlpack::DLDevice device = dlpack::device_of(x);
  return nb::make_tuple(device.device_type, device.device_id);
}

// Types whose __dlpack__ predates DLPack 1.0 and takes no max_version. Detecting that costs an
// exception, so the types are cached for the life of the process.
std::vector<PyObject*>& old_producers() {
  static auto* types = new std::vector<PyObject*>();
  return *types;
}

// Calls method(stream=stream, max_version=(1, 0)), without arguments that are None or unsupported.
nb::object call_versioned(nb::handle method, nb::handle type, nb::handle stream) {
  static const nb::handle version = nb::make_tuple(1, 0).release();
  std::vector<PyObject*>& old = old_producers();
  if (std::find(old.begin(), old.end(), type.ptr()) == old.end()) {
    try {
      if (stream.is_none()) return method("max_version"_a = version);
      return method("stream"_a = stream, "max_version"_a = version);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      old.push_back(type.inc_ref().ptr());
    }
  }
  return stream.is_none() ? method() : method("stream"_a = stream);
}

// The stream to pass to a producer of CUDA memory; None for host memory. It is the legacy default
// stream: most producers work on it and then have nothing to do. Our stream waits for it, which is
// cheaper than the producer's synchronisation.
nb::object stream_for(nb::handle source) {
  constexpr long kCuda = 2;
  static const bool has_cuda = cuda_device_count() > 0;
  if (!has_cuda) return nb::none();  // the query takes some producers microseconds
  const nb::object device = source.attr("__dlpack_device__")();
  if (PyLong_AsLong(nb::object(device[0]).ptr()) != kCuda) return nb::none();
  return nb::int_(kLegacyStream);
}

// The DLPack C exchange API of a type, or nullptr; cached per type.
const dlpack::ExchangeApi* exchange_api(nb::handle type) {
  static auto* known = new std::vector<std::pair<PyObject*, const dlpack::ExchangeApi*>>();
  for (const auto& [seen, api] : *known) {
    if (seen == type.ptr()) return api;
  }
  const dlpack::ExchangeApi* api = nullptr;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeName) != 0) {
    api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeName));
    if (api->version.major != 1) api = nullptr;
  }
  known->emplace_back(type.inc_ref().ptr(), api);
  return api;
}

// The library's current stream on the device.
StreamView work_stream(const dlpack::ExchangeApi& api, Device device) {
  constexpr std::int32_t kCuda = 2;
  void* stream = nullptr;
  if (api.current_stream(kCuda, device.index, &stream) != 0) nb::raise_python_error();
  const auto handle = stream == nullptr ? kLegacyStream : reinterpret_cast<std::intptr_t>(stream);
  return external_stream(device, handle);
}

// Imports a tensor through the library's C exchange API, without Python calls.
Tensor exchange(const dlpack::ExchangeApi& api, nb::handle source) {
  DLManagedTensorVersioned* managed = nullptr;
  if (api.from_object(source.ptr(), &managed) != 0) nb::raise_python_error();
  Tensor taken = dlpack::import_versioned(managed);
  if (taken.device().is_cpu()) return taken;
  const StreamView theirs = work_stream(api, taken.device());
  current_stream(taken.device()).wait(theirs);
  return returned_in_order(taken, reinterpret_cast<std::intptr_t>(theirs.handle()));
}

// A torch.Tensor that shares the memory: through PyTorch's C exchange API if available, else
// through
// __dlpack__, which takes microseconds to look up the current stream.
nb::object to_torch(nb::handle_t<Tensor> self) {
  static const nb::handle torch = nb::module_::import_("torch").release();
  static const nb::handle type = nb::object(torch.attr("Tensor")).release();
  const dlpack::ExchangeApi* api = exchange_api(type);
  if (api == nullptr) return torch.attr("from_dlpack")(self);
  const Tensor& x = nb::cast<const Tensor&>(self);
  if (x.device().is_cuda()) {
    const StreamView theirs = work_stream(*api, x.device());
    theirs.wait(current_stream(x.device()));
    x.storage()->buffer.used_on(theirs);
  }
  void* made = nullptr;
  if (api->to_object(dlpack::export_versioned(x), &made) != 0) nb::raise_python_error();
  return nb::steal(static_cast<PyObject*>(made));
}

nb::dict cuda_array_interface(const Tensor& x) {
  if (x.device().is_cpu()) {
    throw nb::attribute_error("a CPU tensor has no __cuda_array_interface__");
  }
  nb::dict entries = write_interface(x, x.dtype());
  entries["stream"] = reinterpret_cast<std::intptr_t>(current_stream(x.device()).handle());
  return entries;
}

// The interface does not name the device: it is that of the object's `device` attribute, else the
// first one.
Device device_of(nb::handle source) {
  const nb::object place = nb::getattr(source, "device", nb::none());
  const int index = nb::hasattr(place, "id") ? nb::cast<int>(place.attr("id")) : 0;
  return parse_device("cuda:" + std::to_string(index));
}

}  // namespace

Tensor from_dlpack(nb::handle source) {
  if (PyCapsule_CheckExact(source.ptr()) != 0) return returned_in_order(from_capsule(source));
  if (const auto* api = exchange_api(source.type())) return exchange(*api, source);
  if (!nb::hasattr(source, "__dlpack__")) {
    throw nb::type_error("from_dlpack takes a DLPack capsule or an object with __dlpack__");
  }
  const Tensor taken =
      from_capsule(call_versioned(source.attr("__dlpack__"), source.type(), stream_for(source)));
  if (taken.device().is_cuda()) {
    current_stream(taken.device()).wait(external_stream(taken.device(), kLegacyStream));
  }
  return returned_in_order(taken);
}

Tensor from_cuda_array(nb::handle source) {
  const nb::object interface = source.attr("__cuda_array_interface__");
  const std::optional<Memory> memory = read_interface("asarray", interface);
  if (!memory.has_value()) {
    fail(ErrorKind::invalid_argument, "asarray",
         "the address or a stride is not a multiple of the element size; copy the array first");
  }
  const Device device = device_of(source);
  const nb::object stream = interface.attr("get")("stream");
  if (!stream.is_none()) {
    current_stream(device).wait(external_stream(device, nb::cast<std::int64_t>(stream)));
  }
  return returned_in_order(Tensor::wrap(memory->data, memory->shape, memory->strides, memory->dtype,
                                        device, keep_alive(nb::borrow(source)), memory->read_only));
}

void bind_dlpack(nb::module_& module, TensorClass& tensor) {
  tensor
      .def("torch", to_torch, nb::sig("def torch(self) -> typing.Any"),
           "A torch.Tensor that shares the memory, synchronised with PyTorch's current stream.")
      .def(
          "__dlpack__", to_dlpack, nb::kw_only(), "stream"_a = nb::none(),
          "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] "
                  "| None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = "
                  "None) -> object"),
          "A DLPack capsule of the tensor, synchronised with the consumer's stream.")
      .def("__dlpack_device__", dlpack_device,
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
           "The DLPack device: its type (1 CPU, 2 CUDA) and index.")
      .def_prop_ro("__cuda_array_interface__", cuda_array_interface,
                   "Version 3 of the interface; CUDA tensors only.");
  module.def(
      "from_dlpack", from_dlpack, "x"_a, nb::sig("def from_dlpack(x: object) -> Tensor"),
      "A tensor that shares the memory of x: an object with __dlpack__, or a DLPack capsule.");
}

}  // namespace causeway::python
