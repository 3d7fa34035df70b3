#include "causeway/jit/arguments.h"

#include "causeway/core/error.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace causeway::jit {

namespace {

using lang::Scalar;
using lang::TypeId;
using lang::TypeKind;

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
// A grid-stride loop counts one grid past the last thread.
constexpr std::int64_t kMaxLaunch = kMaxInt - (1 << 16);

// The dtype of tensors that hold such scalars.
DType dtype_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::boolean: return DType::boolean;
    case Scalar::i8: return DType::i8;
    case Scalar::i16: return DType::i16;
    case Scalar::i32:
    case Scalar::u32: return DType::i32;
    case Scalar::i64:
    case Scalar::u64: return DType::i64;
    case Scalar::u8: return DType::u8;
    case Scalar::u16: return DType::u16;
    case Scalar::f16: return DType::f16;
    case Scalar::f32: return DType::f32;
    case Scalar::f64: return DType::f64;
  }
  return DType::f32;
}

class Binder {
 public:
  Binder(const lang::Module& module, const lang::Function& kernel, const KernelTraits& traits)
      : module_(module), kernel_(kernel), traits_(traits) {}

  BoundArguments run(std::span<const Argument> arguments, Device device, bool device_given) {
    if (arguments.size() != kernel_.params.size()) {
      fail(ErrorKind::invalid_argument, name(),
           fmt::format("takes {} arguments, got {}", kernel_.params.size(), arguments.size()));
    }
    find_device(arguments, device, device_given);
    bound_.list.resize(arguments.size());
    reserve_values();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool is_array = module_.types.is(kernel_.params[i].type, TypeKind::array);
      if (is_array != arguments[i].tensor.has_value()) {
        refuse(i, is_array ? "expected a tensor or array, got a number"
                           : "expected a number or the numbers of a value, got a tensor");
      }
      is_array ? bind_array(i, *arguments[i].tensor) : bind_value(i, arguments[i].numbers);
    }
    find_overlaps(arguments);
    return std::move(bound_);
  }

 private:
  std::string name() const { return "kernel " + std::string(kernel_.name); }

  [[noreturn]] void refuse(std::size_t i, const std::string& what,
                           ErrorKind kind = ErrorKind::invalid_argument) const {
    fail(kind, name(), fmt::format("argument \"{}\": {}", kernel_.params[i].name, what));
  }

  void find_device(std::span<const Argument> arguments, Device device, bool given) {
    std::optional<std::size_t> first;
    bound_.device = device;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].tensor) continue;
      const Device here = arguments[i].tensor->device();
      if (given ? here == device : !first || here == bound_.device) {
        if (!first) bound_.device = here;
        first = first.value_or(i);
        continue;
      }
      refuse(i, given ? fmt::format("is on {}, but the launch is on {}", to_string(here),
                                    to_string(device))
                      : fmt::format("is on {}, but \"{}\" is on {}", to_string(here),
                                    kernel_.params[*first].name, to_string(bound_.device)));
    }
  }

  void bind_array(std::size_t i, const Tensor& x) {
    const lang::Type& type = module_.types[kernel_.params[i].type];
    const ElementLayout layout = element_layout(module_.types, type.element);
    if (x.dtype() != layout.dtype) {
      refuse(i, fmt::format("expected {} for {}, got {}", to_string(layout.dtype),
                            module_.types.name(kernel_.params[i].type), to_string(x.dtype())));
    }
    check_shape(i, x, type.ndim, layout.inner);
    if (traits_.arrays[i].written() && x.storage()->read_only) {
      refuse(i, "the kernel writes it, and its memory is read-only");
    }
    lang::ArrayView& view = bound_.list[i].array;
    view.data = x.data();
    const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
    const std::int64_t n_inner = numel(layout.inner);
    for (int d = 0; d < type.ndim; ++d) {
      view.shape[d] = x.shape()[d];
      view.strides[d] = x.strides()[d] * item;
      if (x.strides()[d] % n_inner != 0 && x.shape()[d] > 1) {
        refuse(i, fmt::format("stride {} of dimension {} is no multiple of the element's {} "
                              "scalars; pass x.contiguous()",
                              x.strides()[d], d, n_inner));
      }
    }
    if (!x.is_contiguous()) bound_.strided = true;
  }

  void check_shape(std::size_t i, const Tensor& x, int ndim, const Shape& inner) const {
    bool fits = x.n_dims() == ndim + inner.size();
    for (int d = 0; fits && d < inner.size(); ++d) fits = x.shape()[ndim + d] == inner[d];
    if (!fits) {
      std::string expected = fmt::format("{} dimension{}", ndim, ndim == 1 ? "" : "s");
      if (!inner.empty()) expected += fmt::format(" and then {}", to_string(inner));
      refuse(i, fmt::format("expected a shape of {}, got {}", expected, to_string(x.shape())),
             ErrorKind::shape_mismatch);
    }
    std::int64_t dense = 1;
    for (int d = inner.size() - 1; d >= 0; --d) {
      if (inner[d] > 1 && x.strides()[ndim + d] != dense) {
        refuse(i, "the scalars of an element are not contiguous; pass x.contiguous()");
      }
      dense *= inner[d];
    }
    if (x.numel() > kMaxInt) {
      refuse(i, fmt::format("has {} elements; kernels index with 32 bits", x.numel()));
    }
  }

  void reserve_values() {
    std::size_t bytes = 0;
    for (const lang::Param& param : kernel_.params) {
      if (module_.types.is(param.type, TypeKind::array)) continue;
      bytes += (module_.types.size_bytes(param.type) + 15) / 16 * 16;
    }
    bound_.values.resize(bytes);
  }

  void bind_value(std::size_t i, const std::vector<kernels::Scalar>& numbers) {
    const TypeId type = kernel_.params[i].type;
    std::vector<lang::Leaf> leaves;
    module_.types.leaves(type, leaves);
    if (leaves.size() != numbers.size()) {
      refuse(i, fmt::format("expected {} numbers for {}, got {}", leaves.size(),
                            module_.types.name(type), numbers.size()));
    }
    std::byte* start = bound_.values.data() + n_value_bytes_;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      write_scalar(i, leaves[k].scalar, numbers[k], start + leaves[k].offset);
    }
    bound_.list[i].value = start;
    n_value_bytes_ += (module_.types.size_bytes(type) + 15) / 16 * 16;
  }

  void write_scalar(std::size_t i, Scalar scalar, kernels::Scalar number, std::byte* to) const {
    if (lang::is_int(scalar) && !number.is_integer) {
      refuse(i, fmt::format("expected {}, got the float {}", name_of(scalar), number.real));
    }
    const DType dtype = dtype_of(scalar);
    // The dtypes of tensors have no unsigned types of 32 and 64 bits.
    const bool is_wide = scalar == Scalar::u32 || scalar == Scalar::u64;
    const bool fits =
        is_wide ? number.integer >= 0 && (scalar == Scalar::u64 || number.integer <= 0xffffffffLL)
                : kernels::fits(number, dtype);
    if (!fits) refuse(i, fmt::format("{} is out of range for {}", number.integer, name_of(scalar)));
    if (is_wide) {
      std::memcpy(to, &number.integer, size_of(scalar));
      return;
    }
    kernels::dispatch_all(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T typed = kernels::scalar_as<T>(number);
      std::memcpy(to, &typed, sizeof(typed));
    });
  }

  // Emitted text may assume that an array that is only read changes by no store to another.
  void find_overlaps(std::span<const Argument> arguments) {
    struct Extent {
      const std::byte* begin;
      const std::byte* end;
      bool written;
    };
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].tensor || arguments[i].tensor->numel() == 0) continue;
      const Tensor& x = *arguments[i].tensor;
      std::int64_t low = 0;
      std::int64_t high = 1;
      for (int d = 0; d < x.n_dims(); ++d) {
        const std::int64_t reach = (x.shape()[d] - 1) * x.strides()[d];
        (reach < 0 ? low : high) += reach;
      }
      const auto item = static_cast<std::int64_t>(size_of(x.dtype()));
      extents.push_back(
          {x.data() + low * item, x.data() + high * item, traits_.arrays[i].written()});
    }
    for (const Extent& a : extents) {
      for (const Extent& b : extents) {
        if (a.written && !b.written && a.begin < b.end && b.begin < a.end) {
          bound_.overlapping = true;
        }
      }
    }
  }

  const lang::Module& module_;
  const lang::Function& kernel_;
  const KernelTraits& traits_;
  BoundArguments bound_;
  std::size_t n_value_bytes_ = 0;
};

}  // namespace

ElementLayout element_layout(const lang::TypeTable& types, TypeId element) {
  const lang::Type& type = types[element];
  ElementLayout layout{dtype_of(type.scalar), {}};
  switch (type.kind) {
    case TypeKind::vec: layout.inner = {type.rows}; break;
    case TypeKind::mat: layout.inner = {type.rows, type.cols}; break;
    case TypeKind::quat: layout.inner = {4}; break;
    case TypeKind::structure:
      layout = {DType::u8, {static_cast<std::int64_t>(types.size_bytes(element))}};
      break;
    default: break;
  }
  return layout;
}

BoundArguments bind_arguments(const lang::Module& module, const lang::Function& kernel,
                              const KernelTraits& traits, std::span<const Argument> arguments,
                              Device device, bool device_given) {
  return Binder(module, kernel, traits).run(arguments, device, device_given);
}

void check_dims(const lang::Function& kernel, std::span<const std::int64_t> dims) {
  const std::string name = "kernel " + std::string(kernel.name);
  if (dims.size() != static_cast<std::size_t>(kernel.dims)) {
    fail(ErrorKind::invalid_argument, name,
         fmt::format("has {} launch dimension{}, got dim={}", kernel.dims,
                     kernel.dims == 1 ? "" : "s", to_string(Dims(dims))));
  }
  for (const std::int64_t dim : dims) {
    if (dim >= 0 && dim <= kMaxLaunch) continue;
    fail(ErrorKind::invalid_argument, name,
         fmt::format("launch dimensions are from 0 to {}, got {}", kMaxLaunch, dim));
  }
}

PackedArguments::PackedArguments(const lang::Module& module, const lang::Function& kernel,
                                 const lang::Emitted& emitted, const BoundArguments& arguments,
                                 std::span<const std::int64_t> dims, const TapeMemory& tape)
    : slots_(emitted.params.size()) {
  const auto put = [&](std::size_t i, auto value) {
    std::memcpy(&slots_[i], &value, sizeof(value));
    addresses_.push_back(&slots_[i]);
  };
  for (std::size_t i = 0; i < emitted.params.size(); ++i) {
    const lang::EmittedParam& param = emitted.params[i];
    const auto dim = static_cast<std::size_t>(param.dim);
    const lang::Argument& argument = arguments.list[param.param];
    switch (param.kind) {
      case lang::EmittedKind::value: addresses_.push_back(const_cast<void*>(argument.value)); break;
      case lang::EmittedKind::pointer: put(i, argument.array.data); break;
      case lang::EmittedKind::shape: put(i, static_cast<int>(argument.array.shape[dim])); break;
      case lang::EmittedKind::stride: {
        const TypeId element = module.types[kernel.params[param.param].type].element;
        const auto bytes = static_cast<std::int64_t>(module.types.size_bytes(element));
        put(i, static_cast<int>(argument.array.strides[dim] / bytes));
        break;
      }
      case lang::EmittedKind::launch_dim: put(i, static_cast<int>(dims[dim])); break;
      case lang::EmittedKind::range_begin:
        put(i, 0);
        begin_ = reinterpret_cast<int*>(&slots_[i]);
        break;
      case lang::EmittedKind::range_end:
        put(i, static_cast<int>(dims[0]));
        end_ = reinterpret_cast<int*>(&slots_[i]);
        break;
      case lang::EmittedKind::tape: put(i, tape.words); break;
      case lang::EmittedKind::tape_capacity: put(i, tape.capacity); break;
      case lang::EmittedKind::tape_needed: put(i, tape.needed); break;
    }
  }
}

void PackedArguments::set_range(std::int64_t begin, std::int64_t end) {
  *begin_ = static_cast<int>(begin);
  *end_ = static_cast<int>(end);
}

}  // namespace causeway::jit
