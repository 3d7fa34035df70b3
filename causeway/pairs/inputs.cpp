#include "causeway/pairs/inputs.h"

#include "causeway/lang/ir/builder.h"
#include "causeway/pairs/generate/dice.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace causeway::pairs {

namespace {

using lang::Scalar;

template <class T>
void put(std::byte* at, double value) {
  const T number = static_cast<T>(value);
  std::memcpy(at, &number, sizeof number);
}

void put_scalar(std::byte* at, Scalar scalar, double value) {
  switch (scalar) {
    case Scalar::boolean: put<bool>(at, value != 0 ? 1 : 0); break;
    case Scalar::i8: put<std::int8_t>(at, value); break;
    case Scalar::i16: put<std::int16_t>(at, value); break;
    case Scalar::i32: put<std::int32_t>(at, value); break;
    case Scalar::i64: put<std::int64_t>(at, value); break;
    case Scalar::u8: put<std::uint8_t>(at, value); break;
    case Scalar::u16: put<std::uint16_t>(at, value); break;
    case Scalar::u32: put<std::uint32_t>(at, value); break;
    case Scalar::u64: put<std::uint64_t>(at, value); break;
    case Scalar::f16: {
      const std::uint16_t half = lang::float_to_half(static_cast<float>(value));
      std::memcpy(at, &half, sizeof half);
      break;
    }
    case Scalar::f32: put<float>(at, value); break;
    case Scalar::f64: put<double>(at, value); break;
  }
}

struct Filler {
  const Parameter& parameter;
  const InputSet& set;
  std::uint64_t stream;  // of the parameter

  // A number for each scalar of each element.
  double unit(std::uint64_t element, std::uint64_t leaf) const {
    return static_cast<double>(mix(stream + element * 64 + leaf) >> 11) * 0x1p-53;
  }

  double number(double low, double high, bool integers, std::uint64_t element,
                std::uint64_t leaf) const {
    const double u = unit(element, leaf);
    if (set.kind == SetKind::edges) {
      const double middle = low < 0 && high > 0 ? 0 : low;
      const double ends[] = {low, high, middle,
                             integers ? std::floor((low + high) / 2) : (low + high) / 2};
      return ends[static_cast<int>(u * 4)];
    }
    return integers ? low + std::floor(u * (high - low + 1)) : low + u * (high - low);
  }

  double value(std::uint64_t element, std::uint64_t leaf, std::uint64_t count) const {
    switch (parameter.fill) {
      case Fill::uniform: return number(parameter.low, parameter.high, false, element, leaf);
      case Fill::integers: return number(parameter.low, parameter.high, true, element, leaf);
      case Fill::indices:
        return number(0, parameter.bound.value(set.sizes) - 1, true, element, leaf);
      case Fill::permutation: {
        std::uint64_t step = 1 + mix(stream) % count;
        while (std::gcd(step, count) != 1) ++step;
        return static_cast<double>((element * step + mix(stream + 1) % count) % count);
      }
      case Fill::size: return parameter.bound.value(set.sizes);
      case Fill::constant: return parameter.low;
    }
    return 0;
  }
};

}  // namespace

std::string_view name_of(SetKind kind) {
  constexpr std::string_view kNames[] = {"usual", "least", "edges"};
  return kNames[static_cast<int>(kind)];
}

std::vector<InputSet> input_sets(const Program& program) {
  std::vector<InputSet> sets;
  for (const SetKind kind : {SetKind::usual, SetKind::least, SetKind::edges}) {
    InputSet set{kind, mix(program.seed * 3 + static_cast<std::uint64_t>(kind)), {}};
    for (std::size_t i = 0; i < program.symbols.size(); ++i) {
      const SizeSymbol& symbol = program.symbols[i];
      const auto span = static_cast<std::uint64_t>(symbol.usual_high - symbol.usual_low + 1);
      set.sizes.push_back(kind == SetKind::least
                              ? symbol.least
                              : symbol.usual_low + static_cast<int>(mix(set.seed + i) % span));
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<std::int64_t> launch_dims(const Program& program, const InputSet& set) {
  std::vector<std::int64_t> dims;
  for (const Size& size : program.dims) dims.push_back(size.value(set.sizes));
  return dims;
}

std::vector<std::int64_t> array_shape(const Program& program, const Parameter& parameter,
                                      const InputSet& set) {
  std::vector<std::int64_t> shape;
  for (const Size& size : parameter.shape) shape.push_back(size.value(set.sizes));
  if (parameter.flat) {
    shape = {1};
    for (const std::int64_t dim : launch_dims(program, set)) shape[0] *= dim;
  }
  return shape;
}

Memory make_memory(const Program& program, const InputSet& set, const lang::Module& module,
                   const lang::Function& function, std::uint64_t period) {
  Memory memory;
  std::vector<lang::Leaf> leaves;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter& parameter = program.parameters[i];
    lang::TypeId type = function.params[i].type;
    if (parameter.array) type = module.types[type].element;
    const std::size_t size = module.types.size_bytes(type);
    leaves.clear();
    module.types.leaves(type, leaves);
    std::vector<std::int64_t> shape;
    std::uint64_t count = 1;
    if (parameter.array) {
      shape = array_shape(program, parameter, set);
      for (const std::int64_t dim : shape) count *= static_cast<std::uint64_t>(dim);
    }
    std::vector<std::byte> bytes(std::max<std::size_t>(1, count * size));
    const Filler filler{parameter, set, mix(set.seed + 1000 + i)};
    for (std::uint64_t element = 0; element < count; ++element) {
      std::byte* at = bytes.data() + element * size;
      if (element >= period) {
        std::memcpy(at, bytes.data() + element % period * size, size);
        continue;
      }
      std::size_t leaf = 0;
      if (parameter.fields.empty()) {
        for (; leaf < leaves.size(); ++leaf)
          put_scalar(at + leaves[leaf].offset, leaves[leaf].scalar,
                     filler.value(element, leaf, count));
      }
      for (const StructField& field : parameter.fields) {
        for (int k = 0; k < field.type.count(); ++k, ++leaf) {
          put_scalar(at + leaves[leaf].offset, leaves[leaf].scalar,
                     filler.number(field.low, field.high, !lang::is_float(field.type.scalar),
                                   element, leaf));
        }
      }
    }
    memory.bytes.push_back(std::move(bytes));
    memory.shapes.push_back(std::move(shape));
  }
  return memory;
}

std::vector<lang::Argument> Memory::arguments(const lang::Module& module,
                                              const lang::Function& function) {
  std::vector<lang::Argument> result(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const lang::TypeId type = function.params[i].type;
    if (module.types.is(type, lang::TypeKind::array)) {
      result[i].array = lang::contiguous(bytes[i].data(), shapes[i],
                                         module.types.size_bytes(module.types[type].element));
    } else {
      result[i].value = bytes[i].data();
    }
  }
  return result;
}

std::uint64_t fnv(const void* data, std::size_t bytes, std::uint64_t hash) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3ULL;
  return hash;
}

}  // namespace causeway::pairs
