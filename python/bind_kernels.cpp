// Kernels of the language and CUDA text of the user's own. causeway/kernels.py is what users see.
#include "causeway/jit/differentiable.h"
#include "causeway/jit/raw_kernel.h"
#include "causeway/lang/builtins/table.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

namespace causeway::python {

namespace {

using jit::Argument;
using jit::Kernel;
using jit::RawKernel;

// A cw.Stream, which another file binds.
std::optional<StreamView> read_stream(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  const auto handle = nb::cast<std::intptr_t>(nb::object(stream.attr("handle")));
  return StreamView(nb::cast<Device>(nb::object(stream.attr("device"))),
                    reinterpret_cast<CUstream_st*>(handle));
}

// NumPy and CuPy arrays whose dtype tensors do not have, as tensors of the same bits: uint32 as
// i32, uint64 as i64, records as bytes.
nb::object shared_bits(const nb::object& array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  const nb::object kind = nb::getattr(dtype, "kind", nb::none());
  if (kind.equal(nb::str("V")) && !nb::getattr(dtype, "fields", nb::none()).is_none()) {
    nb::object bytes = array.attr("reshape")(array.attr("shape") + nb::make_tuple(1));
    return bytes.attr("view")("u1");
  }
  if (!kind.equal(nb::str("u"))) return array;
  const int size = nb::cast<int>(nb::object(dtype.attr("itemsize")));
  return size < 4 ? array : nb::object(array.attr("view")(size == 4 ? "i4" : "i8"));
}

// A tensor of the object's own memory: what a kernel writes must reach the user.
Tensor shared_tensor(const std::string& parameter, nb::handle source) {
  const bool host = nb::hasattr(source, "__array_interface__");
  if (!host && !nb::hasattr(source, "__dlpack__") &&
      !nb::hasattr(source, "__cuda_array_interface__")) {
    fail(ErrorKind::invalid_argument, "kernel",
         "argument \"" + parameter + "\": expected a tensor or an array, got a " +
             nb::cast<std::string>(source.type().attr("__name__")));
  }
  const nb::object array = shared_bits(nb::borrow(source));
  Tensor tensor = as_tensor(array);
  if (host) {
    const nb::object data = array.attr("__array_interface__")["data"];
    const auto address = nb::cast<std::uintptr_t>(nb::object(data[0]));
    if (reinterpret_cast<std::uintptr_t>(tensor.data()) != address && tensor.numel() > 0) {
      fail(ErrorKind::invalid_argument, "kernel",
           "argument \"" + parameter + "\": its elements are not aligned; pass a copy");
    }
  }
  return tensor;
}

// Numbers, tuples of them, and structs, whose fields are in order.
void read_numbers(const std::string& parameter, nb::handle source,
                  std::vector<kernels::Scalar>& numbers) {
  kernels::Scalar number{0};
  if (read_number(source, number)) {
    numbers.push_back(number);
    return;
  }
  if (!nb::hasattr(source, "__iter__") || nb::isinstance<nb::str>(source)) {
    fail(ErrorKind::invalid_argument, "kernel",
         "argument \"" + parameter + "\": expected a number or a tuple of numbers, got a " +
             nb::cast<std::string>(source.type().attr("__name__")));
  }
  for (nb::handle entry : nb::iter(source)) read_numbers(parameter, entry, numbers);
}

std::vector<Argument> read_arguments(const Kernel& kernel, const nb::sequence& given) {
  const lang::Function& function = kernel.function();
  std::vector<Argument> arguments;
  if (nb::len(given) != function.params.size()) {
    std::string names;
    for (const lang::Param& param : function.params) {
      names += (names.empty() ? "" : ", ") + std::string(param.name);
    }
    fail(ErrorKind::invalid_argument, "kernel " + kernel.name(),
         "takes " + std::to_string(function.params.size()) + " arguments (" + names + "), got " +
             std::to_string(nb::len(given)));
  }
  arguments.reserve(function.params.size());
  for (std::size_t i = 0; i < function.params.size(); ++i) {
    const nb::object entry = given[i];
    const std::string name(function.params[i].name);
    if (nb::isinstance<Tensor>(entry)) {
      arguments.emplace_back(nb::cast<const Tensor&>(entry));
    } else if (kernel.module().types.is(function.params[i].type, lang::TypeKind::array)) {
      arguments.emplace_back(shared_tensor(name, entry));
    } else {
      std::vector<kernels::Scalar> numbers;
      read_numbers(name, entry, numbers);
      arguments.emplace_back(std::move(numbers));
    }
  }
  return arguments;
}

void launch(const Kernel& kernel, const Dims& dims, const nb::sequence& given,
            const Maybe<Device>& device, nb::handle stream, int block_dim, bool tune,
            bool checked) {
  const std::vector<Argument> arguments = read_arguments(kernel, given);
  jit::LaunchOptions options;
  options.device = device.value;
  options.stream = read_stream(stream);
  options.block_size = block_dim;
  options.tune = tune;
  options.checked = checked;
  const bool on_gpu = std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
    return argument.tensor && argument.tensor->device().is_cuda();
  });
  const auto run = [&] {
    return jit::launch_differentiable(kernel, std::span(dims.begin(), dims.end()), arguments,
                                      options);
  };
  // The launch ends at once on a GPU; on the CPU it may take a while.
  const auto written = on_gpu ? without_gil(run) : interruptible(run);
  for (const jit::WrittenArray& array : written) {
    const nb::object entry = given[array.parameter];
    if (nb::isinstance<Tensor>(entry)) {
      nb::cast<Tensor&>(entry).set_record(array.tensor.record());
    }
  }
}

lang::Scalar scalar_named(const std::string& name) {
  for (int i = 0; i < lang::kScalarCount; ++i) {
    if (name == lang::name_of(static_cast<lang::Scalar>(i))) return static_cast<lang::Scalar>(i);
  }
  fail(ErrorKind::invalid_argument, "kernel", "there is no scalar type " + name);
}

// bool, int, float, or (scalar type, rows, columns, numbers) for a vector or matrix.
lang::Constant read_constant(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return lang::Constant::of(nb::cast<bool>(value));
  if (nb::isinstance<nb::int_>(value)) return lang::Constant::of(nb::cast<std::int64_t>(value));
  if (nb::isinstance<nb::float_>(value)) return lang::Constant::of(nb::cast<double>(value));
  const auto [scalar, rows, cols, numbers] =
      nb::cast<std::tuple<std::string, int, int, std::vector<double>>>(value);
  lang::Constant constant;
  constant.kind = cols > 0 ? lang::Constant::Kind::matrix : lang::Constant::Kind::vector;
  constant.scalar = scalar_named(scalar);
  constant.rows = rows;
  constant.cols = std::max(cols, 1);
  constant.values = numbers;
  return constant;
}

// `origins` are tuples (first line, file, line, indent).
Kernel make(const std::string& file, const std::string& text, const std::string& name,
            const nb::dict& constants,
            const std::vector<std::tuple<int, std::string, int, int>>& origins) {
  lang::CompileOptions options;
  for (const auto& [key, value] : constants) {
    options.constants.emplace(nb::cast<std::string>(key), read_constant(value));
  }
  for (const auto& [first, from, line, indent] : origins) {
    options.origins.push_back({first, from, line, indent});
  }
  return without_gil([&] { return jit::make_kernel(file, text, name, options); });
}

std::vector<std::string> parameters(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const lang::Param& param : kernel.function().params) names.emplace_back(param.name);
  return names;
}

std::string ptx(const Kernel& kernel, int architecture) {
  return without_gil([&] {
    const lang::Emitted cuda = kernel.emitted();
    jit::CudaOptions options;
    options.architecture = architecture;
    options.kind = jit::CodeKind::ptx;
    const jit::Bytes text = jit::compile_cuda({cuda.entry + ".cu", cuda.text}, options);
    return std::string(reinterpret_cast<const char*>(text.data()), text.size());
  });
}

// Python's numbers as in CuPy: int as long long, float as double; NumPy's keep their type.
jit::RawArgument read_raw(std::size_t i, nb::handle source) {
  if (nb::isinstance<Tensor>(source)) return nb::cast<const Tensor&>(source);
  if (nb::isinstance<nb::bool_>(source)) return nb::cast<bool>(source);
  if (nb::isinstance<nb::int_>(source)) return nb::cast<std::int64_t>(source);
  if (nb::isinstance<nb::float_>(source)) return nb::cast<double>(source);
  if (nb::hasattr(source, "tobytes") && nb::hasattr(source, "dtype") &&
      nb::cast<std::size_t>(nb::object(source.attr("nbytes"))) <= 8 &&
      nb::cast<int>(nb::object(source.attr("ndim"))) == 0) {
    const nb::bytes bytes(nb::object(source.attr("tobytes")()));
    jit::RawArgument number(0);
    std::memcpy(number.number.data(), bytes.c_str(), bytes.size());
    return number;
  }
  return shared_tensor(std::to_string(i), source);
}

std::array<unsigned, 3> extent(const char* what, const Dims& dims) {
  std::array<unsigned, 3> sizes = {1, 1, 1};
  if (dims.size() > 3) {
    fail(ErrorKind::invalid_argument, "RawKernel",
         std::string(what) + " has at most 3 dimensions, got " + to_string(dims));
  }
  for (int i = 0; i < dims.size(); ++i)
    sizes[static_cast<std::size_t>(i)] = static_cast<unsigned>(dims[i]);
  return sizes;
}

void launch_raw(const RawKernel& kernel, const Dims& grid, const Dims& block,
                const nb::sequence& given, std::size_t shared_mem, nb::handle stream) {
  std::vector<jit::RawArgument> arguments;
  Device device = Device::cuda();
  for (std::size_t i = 0; i < nb::len(given); ++i) {
    const nb::object entry = given[i];
    arguments.push_back(read_raw(i, entry));
    if (arguments.back().tensor) device = arguments.back().tensor->device();
  }
  const std::optional<StreamView> chosen = read_stream(stream);
  without_gil([&] {
    kernel.launch(chosen.value_or(current_stream(device)),
                  {extent("the grid", grid), extent("a block", block), shared_mem}, arguments);
  });
}

}  // namespace

void bind_kernels(nb::module_& module) {
  nb::class_<Kernel>(module, "_Kernel")
      .def(nb::new_(&make), "file"_a, "text"_a, "name"_a, "constants"_a, "origins"_a)
      .def_prop_ro("name", &Kernel::name)
      .def_prop_ro("parameters", parameters)
      .def_prop_ro("dims", [](const Kernel& kernel) { return kernel.function().dims; })
      .def("launch", launch, "dim"_a, "args"_a, "device"_a = nb::none(), "stream"_a = nb::none(),
           "block_dim"_a = 0, "tune"_a = false, "checked"_a = false)
      .def_prop_ro("cuda", [](const Kernel& kernel) { return kernel.emitted().text; })
      .def_prop_ro("cpp",
                   [](const Kernel& kernel) { return kernel.emitted({lang::Dialect::cpp}).text; })
      .def_prop_ro(
          "ir",
          [](const Kernel& kernel) { return lang::print_ir(kernel.module(), kernel.function()); })
      .def_prop_ro("adjoint", [](const Kernel& kernel) { return kernel.adjoint().emitted().text; })
      .def("ptx", ptx, "architecture"_a);
  nb::class_<RawKernel>(module, "_RawKernel")
      .def(nb::init<std::string, std::string, std::vector<std::string>>(), "source"_a, "name"_a,
           "options"_a)
      .def("launch", launch_raw, "grid"_a, "block"_a, "args"_a, "shared_mem"_a = 0,
           "stream"_a = nb::none())
      .def("ptx", [](const RawKernel& kernel, int architecture) {
        const jit::Bytes text =
            without_gil([&] { return kernel.compile(architecture, jit::CodeKind::ptx); });
        return std::string(reinterpret_cast<const char*>(text.data()), text.size());
      });
  module.def("_kernel_builtins", [] {
    std::vector<std::string> names;
    for (const lang::Builtin& builtin : lang::builtins()) names.emplace_back(builtin.name);
    return names;
  });
}

}  // namespace causeway::python
