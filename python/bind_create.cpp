// Creation of tensors: constants, ranges, random numbers.
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
                   Device device) {
  const Scalar first = stop.value.has_value() ? start.value : Scalar(0);
  const Scalar last = stop.value.has_value() ? stop.value->value : start.value;
  const bool whole = first.is_integer && last.is_integer && step.value.is_integer;
  const DType type = dtype.value_or(whole ? DType::i64 : DType::f32);
  return without_gil([&] { return arange(first, last, step.value, type, device); });
}

Tensor linspace(double start, double stop, std::int64_t num, bool endpoint, DTypeArg dtype,
                Device device) {
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
    return values.to(dtype.value).to(device);
  });
}

void bind_constants(nb::module_& module) {
  const auto shape = "shape"_a;
  const auto dtype = "dtype"_a.sig("f32") = DTypeArg{};
  const auto device = "device"_a = Device::cpu();
  module.def(
      "empty",
      [](const Shape& sizes, DTypeArg type, Device where) {
        return without_gil([&] { return Tensor::empty(sizes, type.value, where); });
      },
      shape, dtype, device, "An uninitialised tensor.");
  module.def(
      "zeros",
      [](const Shape& sizes, DTypeArg type, Device where) {
        return filled(sizes, 0, type.value, where);
      },
      shape, dtype, device, "A tensor of zeros.");
  module.def(
      "ones",
      [](const Shape& sizes, DTypeArg type, Device where) {
        return filled(sizes, 1, type.value, where);
      },
      shape, dtype, device, "A tensor of ones.");
  module.def(
      "full",
      [](const Shape& sizes, Number value, Maybe<DTypeArg> type, Device where) {
        return filled(sizes, value.value, type.value_or(dtype_of_number(value.value)), where);
      },
      shape, "value"_a, "dtype"_a = nb::none(), device,
      "A tensor filled with a value; by default f32, or i64 for an integer.");
  module.def(
      "eye",
      [](std::int64_t n, DTypeArg type, Device where) {
        return without_gil([&] { return eye(n, type.value, where); });
      },
      "n"_a, dtype, device, "The identity matrix, shape (n, n).");
}

void bind_like(nb::module_& module) {
  const auto dtype = "dtype"_a = nb::none();
  module.def(
      "empty_like",
      [](const Tensor& x, Maybe<DTypeArg> type) {
        return without_gil(
            [&] { return Tensor::empty(x.shape(), type.value_or(x.dtype()), x.device()); });
      },
      "x"_a, dtype, "An uninitialised tensor of x's shape, dtype and device.");
  module.def(
      "zeros_like",
      [](const Tensor& x, Maybe<DTypeArg> type) {
        return filled(x.shape(), 0, type.value_or(x.dtype()), x.device());
      },
      "x"_a, dtype, "Zeros of x's shape, dtype and device.");
  module.def(
      "ones_like",
      [](const Tensor& x, Maybe<DTypeArg> type) {
        return filled(x.shape(), 1, type.value_or(x.dtype()), x.device());
      },
      "x"_a, dtype, "Ones of x's shape, dtype and device.");
  module.def(
      "full_like",
      [](const Tensor& x, Number value, Maybe<DTypeArg> type) {
        return filled(x.shape(), value.value, type.value_or(x.dtype()), x.device());
      },
      "x"_a, "value"_a, dtype, "A tensor of x's shape, dtype and device, filled with a value.");
}

void bind_ranges(nb::module_& module) {
  module.def(
      "arange", make_arange, "start"_a, "stop"_a = nb::none(), "step"_a.sig("1") = 1,
      "dtype"_a = nb::none(), "device"_a = Device::cpu(),
      "start, start + step, … before stop, shape (n,); start is 0 if one bound is given. i64 "
      "for integers, else f32.");
  module.def("linspace", linspace, "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true,
             "dtype"_a.sig("f32") = DTypeArg{}, "device"_a = Device::cpu(),
             "num evenly spaced values from start to stop, shape (num,).");
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
