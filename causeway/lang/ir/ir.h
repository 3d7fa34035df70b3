// The IR: typed values in SSA form inside structured regions. A value is the instruction that
// computes it. Mutable values are variables (`var`, `get`, `set`), so that loops and branches need
// no phi nodes and emitted text resembles the source.
//
//   kernel @saxpy(%a: f32, %x: array<f32,1>, %y: array<f32,1>) dims 1 {
//     %i = tid 0 : i32
//     %0 = load %x, %i : f32
//     %1 = mul %a, %0 : f32
//     store %y, %i, %1
//   }
#pragma once

#include "causeway/lang/ast.h"
#include "causeway/lang/ir/ops.h"
#include "causeway/lang/source.h"
#include "causeway/lang/types.h"

#include <bit>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::lang {

using ValueId = std::uint32_t;  // an index into Function::insts
using BlockId = std::uint32_t;  // an index into Function::blocks

struct Inst {
  Op op = Op::constant;
  TypeId type = kNone;      // of the value or variable; kNone if there is none
  std::uint32_t first = 0;  // operands: Function::operands[first .. first + count)
  std::uint32_t count = 0;
  BlockId blocks[2] = {kAbsent, kAbsent};
  // The constant's bits, or a number: parameter, dimension, field, function, result.
  std::int64_t imm = 0;
  std::string_view name;  // in the source; empty for intermediate results
  Span span;

  double real() const { return std::bit_cast<double>(imm); }
};

struct Block {
  std::vector<ValueId> insts;
};

// What a parameter of a kernel is for.
enum class ParamRole : std::uint8_t { argument, gradient };

// What an adjoint kernel expects in an array argument: the content from before the forward launch,
// a copy of it that may be overwritten, or the content from after the forward launch.
enum class ArrayContent : std::uint8_t { before, scratch, after };

struct Param {
  std::string_view name;  // "p.x" for the member x of a struct that holds arrays
  TypeId type = kNone;
  ParamRole role = ParamRole::argument;
  std::uint32_t argument = 0;  // which argument of the source function it belongs to
  ArrayContent content = ArrayContent::before;
};

struct Function {
  std::string_view name;
  FunctionKind kind = FunctionKind::function;
  bool helper = false;      // of the language, not of the user
  std::string_view symbol;  // "*" if calls are written with an operator
  bool effects = false;     // writes arrays, or calls a function that does
  bool optimized = false;   // optimize() would change nothing
  int dims = 0;             // launch dimensions of a kernel
  TypeId result = kNone;    // a tuple for several
  Span span;
  std::vector<Param> params;  // the parameter i is the value i
  std::vector<Inst> insts;
  std::vector<ValueId> operands;
  std::vector<Block> blocks;  // the body is block 0

  const Inst& operator[](ValueId id) const { return insts[id]; }
  Inst& operator[](ValueId id) { return insts[id]; }
  std::span<const ValueId> args(const Inst& inst) const {
    return {operands.data() + inst.first, inst.count};
  }
  std::span<ValueId> args(const Inst& inst) { return {operands.data() + inst.first, inst.count}; }
  ValueId arg(const Inst& inst, std::uint32_t i) const { return operands[inst.first + i]; }
};

// Functions that belong together and the table of their types. Names are views into the source or
// into `strings`.
struct Module {
  std::shared_ptr<const Source> source;
  TypeTable types;
  std::vector<Function> functions;                          // callees precede callers
  std::vector<std::shared_ptr<const std::string>> strings;  // shared with copies of the module

  std::string_view keep(std::string text) {
    return *strings.emplace_back(std::make_shared<const std::string>(std::move(text)));
  }
  // The index of the kernel or function; -1 if there is none.
  int find(std::string_view name) const;
};

// IR text, which `read_ir` parses.
std::string print_ir(const Module& module);
// With `spans`, the place in the source of every line; empty for lines without one.
std::string print_ir(const Module& module, const Function& function,
                     std::vector<Span>* spans = nullptr);

// Parses IR text and verifies it. Throws CompileError.
Module read_ir(std::string name, std::string text);

// The first error in the function; empty if it is valid.
std::string verify(const Module& module, const Function& function);

// A hash of the structure of the computation: without names, spans and values of constants, with
// the structure of callees.
std::uint64_t structural_hash(const Module& module, const Function& function);

}  // namespace causeway::lang
