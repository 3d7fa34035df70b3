// Writes a kernel with its functions and types. program.cpp: the complete text; function.cpp:
// statements; expressions.cpp; types.cpp: structs and their operators; atomics.cpp; forms.cpp:
// kernels that are no grid-stride loop.
#pragma once

#include "causeway/lang/emit/emit.h"
#include "causeway/lang/emit/inlining.h"
#include "causeway/lang/emit/names.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace causeway::lang::emit_text {

// The sizes and strides of an array parameter that a function needs, one bit per dimension.
struct ArrayNeeds {
  unsigned shape = 0;
  unsigned strides = 0;
  bool data = false;
  bool written = false;
};

// Binding strength of C++ operators, weakest first.
enum Precedence : int {
  kAssign = 2,
  kTernary = 3,
  kOr = 4,
  kAnd = 5,
  kBitOr = 6,
  kBitXor = 7,
  kBitAnd = 8,
  kEquality = 9,
  kRelation = 10,
  kShift = 11,
  kSum = 12,
  kProduct = 13,
  kUnary = 15,
  kPostfix = 16,
};

// Whether a kernel returns inside of a loop: it is then written as two functions.
bool returns_inside_loop(const Function& function, BlockId block = 0, bool in_loop = false);

// Atomic sums, minima and maxima on elements that are the same for all threads and that nothing
// else touches: blocks can combine their values first. Empty if a return inside of a loop forbids
// it.
std::vector<ValueId> block_reductions(const Module& module, const Function& function);

// Text shared by all functions of a program: types, helpers, needs of array parameters.
class Program {
 public:
  Program(const Module& of, const EmitOptions& how) : module(of), options(how) {}

  Emitted run(int kernel);

  std::string type(TypeId id);              // its C++ name; defines it where necessary
  std::string component(TypeId id, int i);  // ".x", ".c[5]", ".m[1][2]"
  std::string literal(TypeId id, const Inst& constant) const;
  // Names of helpers, defined on first use.
  void need_operator(Op op, TypeId a, TypeId b, TypeId result);
  std::string need_at(TypeId whole);
  std::string need_with(TypeId whole);
  std::string need_row(TypeId matrix);
  std::string need_with_row(TypeId matrix);
  void need_struct_sum(TypeId id);
  void need_equal(TypeId type);
  std::string need_sign(TypeId type);
  std::string need_atomic(Op op, TypeId element);
  std::string need_block(Op op, TypeId type);
  std::string need_erfinv();
  bool cuda() const { return options.dialect == Dialect::cuda; }
  std::string qualifier() const { return cuda() ? "__device__ inline " : "static inline "; }
  bool native_half_ops() const { return cuda(); }

  const Module& module;
  const EmitOptions options;
  std::vector<std::vector<ArrayNeeds>> needs;  // by function and parameter
  std::vector<bool> uses_tape;                 // by function
  NameScope globals;
  std::vector<std::string> function_names;  // by function
  bool uses_blocks = false;                 // block reductions
  bool uses_half = false;
  bool uses_printf = false;
  bool uses_assert = false;

 private:
  void order(int function, std::vector<int>& out, std::vector<bool>& seen) const;
  void name_functions(const std::vector<int>& functions);
  std::string includes_and_tape(bool tape) const;
  void find_needs(int function);
  std::string scalar(Scalar s);
  std::string need_struct_atomic(TypeId id);
  void helper(const std::string& key, const std::string& text);

  std::map<TypeId, std::string> type_names_;
  std::set<std::string> helper_keys_;
  std::vector<std::uint64_t> operators_;  // that are defined
  std::string definitions_;               // types and helpers in the order of first use
};

class FunctionWriter {
 public:
  FunctionWriter(Program& program, int index);

  std::string code;
  std::vector<LineEntry> lines;  // relative to the code
  std::vector<EmittedParam> params;

  void write_kernel(const std::string& name);
  void write_function(const std::string& name);

 private:
  // Statements.
  void block(BlockId id);
  void statement(ValueId id);
  void declare(ValueId id, const std::string& value);
  void set(const Inst& inst);
  void store(const Inst& inst);
  void branch(const Inst& inst, bool chained);
  void loop(const Inst& inst, ValueId id);
  void repeat(const Inst& inst);
  void cond(const Inst& inst, ValueId id);
  void give(const Inst& inst);
  void insert(const Inst& inst, ValueId id);
  void atomic(const Inst& inst, ValueId id);
  void print(const Inst& inst);
  void line(const std::string& content, Span span = {});
  void open(const std::string& head, Span span = {});
  void close(const std::string& tail = "}");
  bool block_is_empty(BlockId id) const;
  std::string compound(const std::string& target, const Inst& value, ValueId old,
                       ValueId& operand) const;

  // Expressions.
  std::string expr(ValueId id, int least = 0);
  std::string raw(ValueId id, int& precedence);
  std::string arithmetic(const Inst& inst, int& precedence);
  std::string narrow(const Inst& inst, std::string value, int& precedence);
  std::string binary_text(ValueId a, ValueId b, std::string_view op, int level, int& precedence);
  std::string math(const Inst& inst, int& precedence);
  std::string cast(const Inst& inst, int& precedence);
  std::string make(const Inst& inst, int& precedence);
  std::string extract(const Inst& inst, int& precedence);
  std::string conditional(const Inst& inst, int& precedence);
  std::string call(const Inst& inst, int& precedence);
  std::string element(const Inst& inst, std::uint32_t n_indices);
  std::string offset(ValueId array, std::span<const ValueId> indices, bool whole, int least);
  std::string argument(ValueId id);
  std::string array_name(ValueId id) const { return names_[id]; }
  std::string shape_name(ValueId array, int dim) const;
  std::string stride_name(ValueId array, int dim) const;
  bool is_variable_of(ValueId id, ValueId var) const;
  bool same_place(const Inst& load, const Inst& store) const;
  bool unique_index(const Inst& inst) const;

  // Kernels.
  std::string signature(bool kernel);
  void add_param(EmittedKind kind, std::uint32_t param, int dim, const std::string& name,
                 std::string type, std::string& out, bool restricted = false);
  void cuda_loop(const std::string& name);
  // Other forms (forms.cpp).
  void one_element();
  void vector_loops();
  void declare_partials();
  void combine_partials();
  void combine(const Inst& inst, const std::string& place, const std::string& value);
  std::string atomic_call(Op op, TypeId type);
  void cpp_loop(const std::string& name);
  bool ranges() const { return program_.options.ranges && !program_.cuda(); }
  void name_threads();
  std::string name_of(ValueId id);
  std::string temporary() { return scope_.unique("t" + std::to_string(temporaries_++)); }

  Program& program_;
  const Module& module_;
  const Function& function_;
  int index_;
  Inlining inlining_;
  NameScope scope_;
  std::vector<std::string> names_;
  std::vector<bool> declared_;
  std::vector<std::string> thread_names_;
  std::vector<std::string> launch_names_;
  std::map<ValueId, std::string> partials_;  // of block reductions, by atomic operation
  std::string range_begin_;
  std::string range_end_;
  int depth_ = 0;
  int temporaries_ = 0;
  int line_number_ = 1;
  int loops_ = 0;
  bool in_kernel_loop_ = false;  // return becomes continue
};

}  // namespace causeway::lang::emit_text
