// Creation of tensors: constants, ranges, random numbers.
#include "causeway/autograd/tape.h"
#include "causeway/tensor/create.h"

#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"
#include "python/bind.h"
#include "python/casters.h"

#include <algorithm>

namespace causeway::python {

namespace {

Tensor filled(const Shape& shape, Scalar value, DType dtype, Device device) {
  return without_gil([&] { return full(shape, value, dtype, device); });
}

// The default dtype of a Python number.
DType dtype_of_number(Scalar value) { return value.is_integer ? DType::i64 : DType::f32; }

Tensor make_arange(Number start, Maybe<Number> stop, Number step, Maybe<DTypeArg> dtype,
                   Maybe<Device> where) {
  const Device device = where.value_or(Device::cpu());
  const Scalar first = stop.value.has_value() ? start.value : Scalar(0);
  const Scalar last = stop.value.has_value() ? stop.value->value : start.value;
  const bool whole = first.is_integer && last.is_integer && step.value.is_integer;
  const DType type = dtype.value_or(whole ? DType::i64 : DType::f32);
  return without_gil([&] { return arange(first, last, step.value, type, device); });
}

Tensor linspace(double start, double stop, std::int64_t num, bool endpoint, Maybe<DTypeArg> dtype,
                Maybe<Device> device) {
  if (num < 0) {
    fail(ErrorKind::invalid_argument, "linspace",
         "num " + std::to_string(num) + ": expected 0 or more");
  }
  return without_gil([&] {
    const auto gaps = static_cast<double>(std::max<std::int64_t>(endpoint ? num - 1 : num, 1));
    const Tensor steps = arange(0, Scalar(num), 1, DType::f64);
    const Tensor values = steps * Scalar((stop - start) / gaps) + Scalar(start);
    // Rounding must not change the endpoint.
    if (endpoint && num > 1) values.slice(0, num - 1).copy_from(full({1}, stop, DType::f64));
    return values.to(dtype.value_or(DType::f32)).to(device.value_or(Device::cpu()));
  });
}

Tensor tracked(Tensor tensor, bool requires_grad) {
  if (requires_grad) autograd::set_requires_grad(tensor, true);
  return tensor;
}

// A shape as one argument, or PyTorch's separate sizes.
template <class Make>
void define_by_shape(nb::module_& module, const char* name, const Make& make, const char* doc) {
  const auto dtype = "dtype"_a.sig("f32") = nb::none();
  const auto device = "device"_a.sig("\"cpu\"") = nb::none();
  const auto requires_grad = "requires_grad"_a = false;
  const auto by_shape = [make](const Shape& shape, Maybe<DTypeArg> type, Maybe<Device> where,
                               bool wanted) {
    return tracked(make(shape, type.value_or(DType::f32), where.value_or(Device::cpu())), wanted);
  };
  module.def(name, by_shape, "shape"_a, dtype, device, requires_grad, doc);
  module.def(name, by_shape, nb::kw_only(), "size"_a, dtype, device, requires_grad, doc);
  module.def(
      name,
      [by_shape](nb::args sizes, Maybe<DTypeArg> type, Maybe<Device> where, bool wanted) {
        Dims shape;
        if (!read_dims(sizes, shape)) throw nb::type_error("expected sizes, which are integers");
        return by_shape(shape, type, where, wanted);
      },
      "size"_a, dtype, device, requires_grad, doc);
}

void bind_constants(nb::module_& module) {
  define_by_shape(
      module, "empty",
      [](const Shape& shape, DType type, Device where) {
        return without_gil([&] { return Tensor::empty(shape, type, where); });
      },
      "An uninitialised tensor.");
  const auto constant = [](Scalar value) {
    return [value](const Shape& shape, DType type, Device where) {
      return filled(shape, value, type, where);
    };
  };
  define_by_shape(module, "zeros", constant(0), "A tensor of zeros.");
  define_by_shape(module, "ones", constant(1), "A tensor of ones.");
  const auto device = "device"_a.sig("\"cpu\"") = nb::none();
  const auto requires_grad = "requires_grad"_a = false;
  const auto make_full = [](const Shape& sizes, Number value, Maybe<DTypeArg> type,
                            Maybe<Device> where, bool wanted) {
    return tracked(filled(sizes, value.value, type.value_or(dtype_of_number(value.value)),
                          where.value_or(Device::cpu())),
                   wanted);
  };
  const auto make_eye = [](std::int64_t n, Maybe<DTypeArg> type, Maybe<Device> where, bool wanted) {
    return tracked(without_gil([&] {
                     return eye(n, type.value_or(DType::f32), where.value_or(Device::cpu()));
                   }),
                   wanted);
  };
  constexpr const char* kFull =
      "A tensor filled with a value; by default f32, or i64 for an integer.";
  module.def("full", make_full, "shape"_a, "value"_a, "dtype"_a = nb::none(), device, requires_grad,
             kFull);
  module.def("full", make_full, "size"_a, "fill_value"_a, "dtype"_a = nb::none(), device,
             requires_grad, kFull);
  module.def("eye", make_eye, "n"_a, "dtype"_a.sig("f32") = nb::none(), device, requires_grad,
             "The identity matrix, shape (n, n).");
}

// A tensor of another's shape, and of its dtype and device unless others are given.
template <class Make>
void define_like(nb::module_& module, const char* name, const Make& make, const char* doc) {
  module.def(
      name,
      [make](const Tensor& x, Maybe<DTypeArg> type, Maybe<Device> where, bool wanted) {
        return tracked(make(x.shape(), type.value_or(x.dtype()), where.value_or(x.device())),
                       wanted);
      },
      "x"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false, doc);
}

void bind_like(nb::module_& module) {
  define_like(
      module, "empty_like",
      [](const Shape& shape, DType type, Device where) {
        return without_gil([&] { return Tensor::empty(shape, type, where); });
      },
      "An uninitialised tensor of x's shape, dtype and device.");
  const auto constant = [](Scalar value) {
    return [value](const Shape& shape, DType type, Device where) {
      return filled(shape, value, type, where);
    };
  };
  define_like(module, "zeros_like", constant(0), "Zeros of x's shape, dtype and device.");
  define_like(module, "ones_like", constant(1), "Ones of x's shape, dtype and device.");
  for (const char* value : {"value", "fill_value"}) {
    module.def(
        "full_like",
        [](const Tensor& x, Number number, Maybe<DTypeArg> type, Maybe<Device> where) {
          return filled(x.shape(), number.value, type.value_or(x.dtype()),
                        where.value_or(x.device()));
        },
        "x"_a, nb::arg(value), "dtype"_a = nb::none(), "device"_a = nb::none(),
        "A tensor of x's shape, dtype and device, filled with a value.");
  }
}

void bind_ranges(nb::module_& module) {
  for (const char* last : {"stop", "end"}) {
    module.def(
        "arange", make_arange, "start"_a.sig("0") = 0, nb::arg(last) = nb::none(),
        "step"_a.sig("1") = 1, "dtype"_a = nb::none(), "device"_a.sig("\"cpu\"") = nb::none(),
        "start, start + step, … before the end, shape (n,); start is 0 if one bound is given. i64 "
        "for integers, else f32.");
  }
  constexpr const char* kLinspace = "Evenly spaced values from start to the end, shape (n,).";
  const auto dtype = "dtype"_a.sig("f32") = nb::none();
  const auto device = "device"_a.sig("\"cpu\"") = nb::none();
  module.def("linspace", linspace, "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true, dtype,
             device, kLinspace);
  module.def(
      "linspace",
      [](double start, double end, std::int64_t steps, Maybe<DTypeArg> type, Maybe<Device> where) {
        return linspace(start, end, steps, true, type, where);
      },
      "start"_a, "end"_a, "steps"_a, dtype, device, kLinspace);
}

// The calls hold the GIL, so that two threads never use the same call number of a generator.
void bind_generator(nb::module_& module) {
  const auto f32 = "dtype"_a.sig("f32") = DTypeArg{};
  const auto device = "device"_a = Device::cpu();
  nb::class_<Generator>(
      module, "Generator",
      "A generator of random tensors. The k-th call gives the same numbers on every "
      "device and does not depend on earlier calls.")
      .def(nb::init<std::uint64_t>(), "seed"_a = 0)
      .def_prop_ro("seed", &Generator::seed, "The seed.")
      .def_prop_rw("next", &Generator::next, &Generator::seek,
                   "Number of the next call; can be set.")
      .def(
          "uniform",
          [](Generator& self, const Shape& shape, double low, double high, DTypeArg type,
             Device where) { return self.uniform(shape, low, high, type.value, where); },
          "shape"_a, "low"_a = 0.0, "high"_a = 1.0, f32, device, "Uniform numbers in [low, high).")
      .def(
          "normal",
          [](Generator& self, const Shape& shape, double mean, double deviation, DTypeArg type,
             Device where) { return self.normal(shape, mean, deviation, type.value, where); },
          "shape"_a, "mean"_a = 0.0, "deviation"_a = 1.0, f32, device, "Normal numbers.")
      .def(
          "integers",
          [](Generator& self, const Shape& shape, std::int64_t low, std::int64_t high,
             DTypeArg type,
             Device where) { return self.integers(shape, low, high, type.value, where); },
          "shape"_a, "low"_a, "high"_a, "dtype"_a.sig("i64") = DTypeArg{DType::i64}, device,
          "Uniform integers in [low, high).")
      .def("permutation", &Generator::permutation, "n"_a, device,
           "0 … n-1 in random order, i64, shape (n,).");
}

}  // namespace

void bind_create(nb::module_& module) {
  bind_constants(module);
  bind_like(module);
  bind_ranges(module);
  bind_generator(module);
}

}  // namespace causeway::python
