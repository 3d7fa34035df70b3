// Files of tensors, .npy and .safetensors, and TensorBoard events.
#include "causeway/data/npy.h"
#include "causeway/data/safetensors.h"
#include "causeway/data/tensorboard.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using Path = std::filesystem::path;
using Tensors = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

void bind_npy(nb::module_& module) {
  module.def(
      "load_npy",
      [](const Path& path, Device device) {
        return without_gil([&] { return load_npy(path, device); });
      },
      "path"_a, "device"_a = Device::cpu(), "Reads a .npy file.");
  module.def(
      "save_npy",
      [](const Path& path, const Tensor& tensor) { without_gil([&] { save_npy(path, tensor); }); },
      "path"_a, "tensor"_a,
      "Writes a .npy file, as numpy.save does. The file is replaced atomically.");
}

void bind_safetensors(nb::module_& module) {
  module.def(
      "load_safetensors",
      [](const Path& path, Device device) {
        return without_gil([&] { return load_safetensors(path, device).tensors; });
      },
      "path"_a, "device"_a = Device::cpu(), "Reads the tensors of a .safetensors file, by name.");
  module.def(
      "load_safetensors_with_metadata",
      [](const Path& path, Device device) {
        return without_gil([&] {
          SafetensorsFile file = load_safetensors(path, device);
          return std::pair(std::move(file.tensors), std::move(file.metadata));
        });
      },
      "path"_a, "device"_a = Device::cpu(),
      "Reads the tensors and the metadata of a .safetensors file.");
  module.def(
      "save_safetensors",
      [](const Path& path, const Tensors& tensors, const Metadata& metadata) {
        without_gil([&] { save_safetensors(path, tensors, metadata); });
      },
      "path"_a, "tensors"_a, "metadata"_a = Metadata(),
      "Writes named tensors and metadata to a .safetensors file. The file is replaced atomically.");
}

void bind_events(nb::module_& module) {
  nb::class_<EventWriter>(module, "_EventWriter", "Writes TensorBoard events to a new file.")
      .def(nb::init<const Path&, std::int64_t>(), "folder"_a, "first_step"_a)
      .def(
          "add",
          [](EventWriter& self, std::int64_t step, const std::vector<NamedNumber>& numbers) {
            self.add(step, numbers);
          },
          "step"_a, "numbers"_a);
}

}  // namespace

void bind_data(nb::module_& module) {
  bind_npy(module);
  bind_safetensors(module);
  bind_events(module);
}

}  // namespace causeway::python
