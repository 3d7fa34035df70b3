// Inputs of a program: the sizes and contents that it is launched with. They follow from the
// program and a set alone, so that any tool can make them again; docs/pairs.md has the formulas.
#pragma once

#include "causeway/lang/interpret/interpreter.h"
#include "causeway/lang/ir/ir.h"
#include "causeway/pairs/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::pairs {

// What an input set is for: usual sizes and values, the least sizes, or values at the ends of the
// ranges.
enum class SetKind : std::uint8_t { usual, least, edges };
std::string_view name_of(SetKind kind);

struct InputSet {
  SetKind kind = SetKind::usual;
  std::uint64_t seed = 0;
  std::vector<int> sizes;  // of the program's symbols
};

// The sets that every program is verified on.
std::vector<InputSet> input_sets(const Program& program);

std::vector<std::int64_t> launch_dims(const Program& program, const InputSet& set);
std::vector<std::int64_t> array_shape(const Program& program, const Parameter& parameter,
                                      const InputSet& set);

// Memory of all parameters of a kernel.
struct Memory {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<std::int64_t>> shapes;  // empty for values

  // Arguments that point into `bytes`; valid until that changes.
  std::vector<lang::Argument> arguments(const lang::Module& module, const lang::Function& function);
};

// The content before the launch. `function` is the kernel, compiled with or without promoted
// floats. From element `period` on, arrays repeat their content.
Memory make_memory(const Program& program, const InputSet& set, const lang::Module& module,
                   const lang::Function& function, std::uint64_t period = UINT64_MAX);

// FNV-1a, 64 bits.
std::uint64_t fnv(const void* data, std::size_t bytes, std::uint64_t hash = 0xcbf29ce484222325ULL);

}  // namespace causeway::pairs
