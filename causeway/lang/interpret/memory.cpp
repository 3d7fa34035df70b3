// Arrays, atomics, block reductions and the tape of adjoint kernels.
#include "causeway/lang/interpret/machine.h"

namespace causeway::lang::interpret {

namespace {

// Copies one scalar between memory and a lane of a register.
void read_scalar(Scalar scalar, std::byte* r, int lane, const std::byte* memory) {
  if (scalar == Scalar::f16) {
    std::uint16_t half = 0;
    std::memcpy(&half, memory, 2);
    reinterpret_cast<float*>(r)[lane] = half_to_float(half);
    return;
  }
  const std::size_t size = size_of(scalar);
  std::memcpy(r + static_cast<std::size_t>(lane) * size, memory, size);
}

void write_scalar(Scalar scalar, const std::byte* r, int lane, std::byte* memory) {
  if (scalar == Scalar::f16) {
    const std::uint16_t half = float_to_half(reinterpret_cast<const float*>(r)[lane]);
    std::memcpy(memory, &half, 2);
    return;
  }
  const std::size_t size = size_of(scalar);
  std::memcpy(memory, r + static_cast<std::size_t>(lane) * size, size);
}

Op plain(Op op) {
  switch (op) {
    case Op::atomic_add:
    case Op::block_sum: return Op::add;
    case Op::atomic_sub: return Op::sub;
    case Op::atomic_min:
    case Op::block_min: return Op::min;
    case Op::atomic_max:
    case Op::block_max: return Op::max;
    case Op::atomic_and: return Op::bit_and;
    case Op::atomic_or: return Op::bit_or;
    default: return Op::bit_xor;
  }
}

}  // namespace

std::int64_t Machine::index_at(const Frame& frame, ValueId id, int lane) const {
  const Scalar scalar = module_.types[type(frame, id)].scalar;
  const std::byte* r = frame.registers.data() + frame.plan->place[id];
  return visit(scalar, [&]<class T>(T) {
    return static_cast<std::int64_t>(reinterpret_cast<const T*>(r)[lane]);
  });
}

// Byte offsets of the element the indices name. Lanes whose index is out of range leave the mask,
// or are reported in checked mode.
bool Machine::address(Frame& frame, const Inst& inst, std::uint32_t n_indices, Mask& mask,
                      std::int64_t* offsets, std::byte*& base) {
  const Function& function = *frame.plan->function;
  const ValueId array_id = function.arg(inst, 0);
  const ArrayRegister& array = frame.arrays[frame.plan->place[array_id]];
  base = static_cast<std::byte*>(array.view->data);
  for_lanes(mask, [&](int lane) {
    std::int64_t offset = array.offsets ? array.offset[static_cast<std::size_t>(lane)] : 0;
    for (std::uint32_t d = 0; d < n_indices; ++d) {
      const auto dim = static_cast<std::size_t>(array.first_dim) + d;
      const std::int64_t size = array.view->shape[dim];
      const std::int64_t index = index_at(frame, function.arg(inst, 1 + d), lane);
      if (index < 0 || index >= size) {
        if (options_.checked) {
          std::string shape;
          for (int i = 0; i < module_.types[type(frame, array_id)].ndim; ++i) {
            shape += (i > 0 ? ", " : "(") + std::to_string(array.view->shape[array.first_dim + i]);
          }
          fault(frame, inst.span,
                {"index " + std::to_string(index) + " is out of range for array \"" +
                     std::string(function[array_id].name) + "\" of shape " + shape + ")",
                 "index " + std::to_string(index) + " in dimension " + std::to_string(d),
                 "0 to " + std::to_string(size - 1)});
        }
        mask &= ~(Mask{1} << lane);
        return;
      }
      offset += index * array.view->strides[dim];
    }
    offsets[lane] = offset;
  });
  return mask != 0;
}

void Machine::load(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  std::int64_t offsets[kLanes];
  std::byte* base = nullptr;
  Mask inside = mask;
  address(frame, inst, inst.count - 1, inside, offsets, base);
  const Layout& element = layout(inst.type);
  if (inside != mask) std::memset(reg(frame, id), 0, element.bytes);
  for (const RegisterLeaf& leaf : element.leaves) {
    std::byte* const r = reg(frame, id) + leaf.register_;
    for_lanes(inside, [&](int lane) {
      read_scalar(leaf.scalar, r, lane, base + offsets[lane] + leaf.memory);
    });
  }
}

void Machine::store(Frame& frame, const Inst& inst, Mask mask) {
  const Function& function = *frame.plan->function;
  std::int64_t offsets[kLanes];
  std::byte* base = nullptr;
  if (!address(frame, inst, inst.count - 2, mask, offsets, base)) return;
  const ValueId value = function.arg(inst, inst.count - 1);
  for (const RegisterLeaf& leaf : layout(type(frame, value)).leaves) {
    const std::byte* const r = reg(frame, value) + leaf.register_;
    for_lanes(mask, [&](int lane) {
      write_scalar(leaf.scalar, r, lane, base + offsets[lane] + leaf.memory);
    });
  }
}

// Threads execute in order of their index.
void Machine::atomic(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  const std::uint32_t n_values = inst.op == Op::atomic_cas ? 2 : 1;
  std::int64_t offsets[kLanes];
  std::byte* base = nullptr;
  if (!address(frame, inst, inst.count - 1 - n_values, mask, offsets, base)) return;
  const ValueId value = function.arg(inst, inst.count - 1);
  for (const RegisterLeaf& leaf : layout(inst.type).leaves) {
    std::byte* const old = reg(frame, id) + leaf.register_;
    const std::byte* const operand = reg(frame, value) + leaf.register_;
    alignas(8) std::byte result[kLanes * 8];
    for_lanes(mask, [&](int lane) {
      std::byte* const memory = base + offsets[lane] + leaf.memory;
      read_scalar(leaf.scalar, old, lane, memory);
      if (inst.op == Op::atomic_exch) return write_scalar(leaf.scalar, operand, lane, memory);
      if (inst.op == Op::atomic_cas) {
        const std::byte* const expected = reg(frame, function.arg(inst, inst.count - 2));
        const std::size_t size = register_bytes(leaf.scalar);
        const auto at = static_cast<std::size_t>(lane) * size;
        if (std::memcmp(old + at, expected + at, size) == 0)
          write_scalar(leaf.scalar, operand, lane, memory);
        return;
      }
      const Mask one = Mask{1} << lane;
      visit(leaf.scalar, [&]<class T>(T) {
        const T x = reinterpret_cast<const T*>(old)[lane];
        const T y = reinterpret_cast<const T*>(operand)[lane];
        T z{};
        if (inst.op == Op::atomic_add) {
          z = static_cast<T>(x + y);
        } else if (inst.op == Op::atomic_sub) {
          z = static_cast<T>(x - y);
        } else {
          binary_lanes(plain(inst.op), leaf.scalar, result, old, operand, one);
          z = reinterpret_cast<const T*>(result)[lane];
        }
        reinterpret_cast<T*>(result)[lane] = z;
      });
      write_scalar(leaf.scalar, result, lane, memory);
    });
  }
}

void Machine::view(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const Function& function = *frame.plan->function;
  std::int64_t offsets[kLanes] = {};
  std::byte* base = nullptr;
  address(frame, inst, inst.count - 1, mask, offsets, base);
  const ArrayRegister& whole = frame.arrays[frame.plan->place[function.arg(inst, 0)]];
  ArrayRegister& part = frame.arrays[frame.plan->place[id]];
  part.view = whole.view;
  part.first_dim = whole.first_dim + static_cast<int>(inst.count) - 1;
  part.offsets = true;
  for (std::size_t i = 0; i < kLanes; ++i) part.offset[i] = offsets[i];
}

void Machine::block_reduce(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const ValueId value = frame.plan->function->arg(inst, 0);
  const Scalar scalar = module_.types[inst.type].scalar;
  visit(scalar, [&]<class T>(T) {
    const auto* in = reinterpret_cast<const T*>(reg(frame, value));
    T total{};
    bool first = true;
    for_lanes(mask, [&](int lane) {
      const T x = in[lane];
      if (first) {
        total = x;
      } else if (inst.op == Op::block_sum) {
        total = static_cast<T>(total + x);
      } else {
        const bool takes = inst.op == Op::block_min ? x < total : x > total;
        total = takes ? x : total;
      }
      first = false;
    });
    auto* out = reinterpret_cast<T*>(reg(frame, id));
    for (int i = 0; i < kLanes; ++i) out[i] = total;
  });
}

void Machine::push(Frame& frame, const Inst& inst, Mask mask) {
  const ValueId value = frame.plan->function->arg(inst, 0);
  for (const RegisterLeaf& leaf : layout(type(frame, value)).leaves) {
    const std::byte* const r = reg(frame, value) + leaf.register_;
    const std::size_t size = register_bytes(leaf.scalar);
    for_lanes(mask, [&](int lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, r + static_cast<std::size_t>(lane) * size, size);
      tape_[lane].push_back(word);
    });
  }
  step(frame, inst.span);
}

void Machine::pop(Frame& frame, const Inst& inst, ValueId id, Mask mask) {
  const auto& leaves = layout(inst.type).leaves;
  for (std::size_t i = leaves.size(); i-- > 0;) {
    std::byte* const r = reg(frame, id) + leaves[i].register_;
    const std::size_t size = register_bytes(leaves[i].scalar);
    for_lanes(mask, [&](int lane) {
      std::uint64_t word = 0;
      if (!tape_[lane].empty()) {
        word = tape_[lane].back();
        tape_[lane].pop_back();
      }
      std::memcpy(r + static_cast<std::size_t>(lane) * size, &word, size);
    });
  }
}

}  // namespace causeway::lang::interpret
