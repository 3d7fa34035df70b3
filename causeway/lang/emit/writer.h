// Writes a kernel with its functions and types. program.cpp: the complete text; statements.cpp;
// expressions.cpp; types.cpp: structs and their operators; atomics.cpp; forms.cpp:
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
  Program(const Module& of, const EmitOptions& how)
      : module(of), options(how), type_names_(of.types.size()) {}

  Emitted run(int kernel);

  const std::string& type(TypeId id);       // its C++ name; defines it where necessary
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
  std::string define(TypeId id);
  TypeId row_type(TypeId matrix) const;
  std::string scalar(Scalar s);
  std::string need_struct_atomic(TypeId id);
  // False if the helper is defined already.
  bool first_use(const std::string& key) { return helper_keys_.insert(key).second; }

  std::vector<std::string> type_names_;  // by type; empty before the first use
  std::set<std::string> helper_keys_;
  std::vector<std::uint64_t> operators_;  // that are defined
  std::string definitions_;               // types and helpers in the order of first use
};

// A value inside a line, in parentheses if it binds less strongly than `least`.
struct Value {
  ValueId id;
  int least = 0;
};

// Writes one function to the end of `code`.
class FunctionWriter {
 public:
  FunctionWriter(Program& program, int index, std::string& code);

  std::vector<LineEntry> lines;      // of a function of the user, relative to its first
  std::vector<EmittedParam> params;  // of a kernel
  int n_lines() const { return line_number_ - 1; }

  void write_kernel(const std::string& name);
  void write_function(const std::string& name);

 private:
  // Appends texts, characters and values to the code.
  template <class... Piece>
  void write(const Piece&... pieces) {
    (put(pieces), ...);
  }
  void put(std::string_view text) { code_ += text; }
  void put(char c) { code_ += c; }
  void put(Value value) { expr(value.id, value.least); }
  // Puts text before and after what was written from `begin` on.
  void enclose(std::size_t begin, std::string_view before, std::string_view after);
  std::size_t begin_line(Span span = {});  // where its text begins
  void end_line();
  template <class... Piece>
  void line(Span span, const Piece&... pieces) {
    begin_line(span);
    write(pieces...);
    end_line();
  }
  template <class... Piece>
  void line(const Piece&... pieces) {
    line(Span{}, pieces...);
  }
  // A line that begins an indented block; close() ends the block.
  template <class... Piece>
  void open(const Piece&... pieces) {
    line(pieces...);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  // Statements.
  void block(BlockId id);
  void statement(BlockId block, std::size_t at);
  bool is_set_first(BlockId block, std::size_t at) const;
  const std::string& declaration(ValueId id);  // until the next one
  void set(const Inst& inst);
  void store(const Inst& inst);
  void branch(const Inst& inst, bool chained);
  void loop(const Inst& inst, ValueId id);
  void repeat(const Inst& inst);
  void cond(const Inst& inst, ValueId id);
  void give(const Inst& inst);
  void insert(const Inst& inst, ValueId id, ValueId next);
  void replace_part(const Inst& inst, const std::string& name);
  void atomic(const Inst& inst, ValueId id);
  void print(const Inst& inst);
  bool block_is_empty(BlockId id) const;
  std::string_view compound(const Inst& value, ValueId old) const;

  // Expressions. Those that return a number return how strongly the text binds.
  void expr(ValueId id, int least = 0);
  std::string text(ValueId id);  // not written
  int raw(ValueId id);
  int arithmetic(const Inst& inst);
  int narrow(const Inst& inst, std::size_t begin, int precedence);
  int binary(ValueId a, ValueId b, std::string_view op, int level);
  int math(const Inst& inst);
  int integer_math(const Inst& inst);
  int cast(const Inst& inst);
  void make(const Inst& inst);
  void extract(const Inst& inst);
  int conditional(const Inst& inst);
  int call(const Inst& inst);
  void element(const Inst& inst, std::uint32_t n_indices);
  void offset(ValueId array, std::span<const ValueId> indices, bool whole, int least);
  void argument(ValueId id);
  const std::string& array_name(ValueId id) const { return names_[id]; }
  std::string shape_name(ValueId array, int dim) const;
  std::string stride_name(ValueId array, int dim) const;
  bool is_variable_of(ValueId id, ValueId var) const;
  bool same_place(const Inst& load, const Inst& store) const;
  void find_own_elements();
  bool is_own_element(ValueId array) const {
    return array < own_element_.size() && own_element_[array];
  }

  // Kernels.
  std::string signature(bool kernel);
  void add_param(EmittedKind kind, std::uint32_t param, int dim, const std::string& name,
                 std::string type, std::string& out, bool restricted = false);
  void cuda_loop();
  // Other forms (forms.cpp).
  void one_element();
  void vector_loops();
  void declare_partials();
  void combine_partials();
  void combine(const Inst& inst, const std::string& place, const std::string& value);
  std::string atomic_call(Op op, TypeId type);
  void cpp_loop();
  bool ranges() const { return program_.options.ranges && !program_.cuda(); }
  void name_threads();
  const std::string& name_of(ValueId id);
  std::string temporary() { return scope_.unique("t" + std::to_string(temporaries_++)); }

  Program& program_;
  const Module& module_;
  const Function& function_;
  int index_;
  std::string& code_;
  Inlining inlining_;
  NameScope scope_;
  std::vector<std::string> names_;
  std::vector<bool> declared_;
  std::vector<bool> own_element_;  // by parameter
  std::vector<std::string> thread_names_;
  std::vector<std::string> launch_names_;
  std::map<ValueId, std::string> partials_;  // of block reductions, by atomic operation
  std::string declaration_;
  std::string range_begin_;
  std::string range_end_;
  int depth_ = 0;
  int temporaries_ = 0;
  int line_number_ = 1;
  bool in_kernel_loop_ = false;  // return becomes continue
};

}  // namespace causeway::lang::emit_text
