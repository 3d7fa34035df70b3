// Registers of one function: for every value, for every scalar of it, 64 lanes.
#pragma once

#include "causeway/lang/interpret/interpreter.h"

#include <array>
#include <vector>

namespace causeway::lang::interpret {

using Mask = std::uint64_t;

// float16 is stored as float, rounded after every operation.
constexpr std::size_t register_bytes(Scalar s) { return s == Scalar::f16 ? 4 : size_of(s); }

struct RegisterLeaf {
  Scalar scalar;
  std::uint32_t memory;     // offset in an array's element
  std::uint32_t register_;  // offset in the value's registers
};

struct Layout {
  std::vector<RegisterLeaf> leaves;
  std::uint32_t bytes = 0;  // of the registers
  std::size_t size = 0;     // of the value in memory
};

// An array value: the caller's memory and, for views, an offset per lane.
struct ArrayRegister {
  const ArrayView* view = nullptr;
  int first_dim = 0;
  bool offsets = false;
  std::array<std::int64_t, kLanes> offset = {};
};

struct FramePlan {
  const Function* function = nullptr;
  std::vector<std::uint32_t> place;  // of a value's registers; arrays: index into Frame::arrays
  std::uint32_t bytes = 0;
  std::uint32_t n_arrays = 0;
};

struct Frame {
  const FramePlan* plan = nullptr;
  std::vector<std::byte> registers;
  std::vector<ArrayRegister> arrays;
  std::vector<Mask> assigned;  // of variables, by value
  Mask returned = 0;
  Mask broke = 0;
  Mask continued = 0;
  std::vector<std::byte> result;  // registers of the returned value
};

}  // namespace causeway::lang::interpret
