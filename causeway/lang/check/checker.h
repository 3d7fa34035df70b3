// Type-checks the syntax tree and lowers it to IR in one pass.
#pragma once

#include "causeway/lang/builtins/table.h"
#include "causeway/lang/check/name_uses.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/ir/builder.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::lang {

// The result of checking an expression.
struct Operand {
  enum class Kind : std::uint8_t { none, value, array, group, tuple, type };

  Kind kind = Kind::none;
  bool literal = false;  // a literal or a constant from outside
  std::uint8_t n_prefix = 0;
  TypeId type = kNone;
  ValueId id = 0;
  std::uint32_t group = 0;             // index into Checker::groups_: members
  std::array<ValueId, 3> prefix = {};  // indices already applied to an array

  static Operand value(ValueId id, TypeId type, bool literal = false) {
    Operand operand;
    operand.kind = type == kNone ? Kind::none : Kind::value;
    operand.id = id;
    operand.type = type;
    operand.literal = literal;
    return operand;
  }
  bool is_value() const { return kind == Kind::value; }
};

// Names that a pattern of the prelude has bound.
struct PatternBinding {
  std::string_view name;
  TypeId type = kNone;  // kNone for a length
  int length = 0;
};
using PatternBindings = std::vector<PatternBinding>;

class Checker {
 public:
  Checker(std::shared_ptr<const Source> source, const CompileOptions& options);

  Module run();

 private:
  struct Binding {
    std::string_view name;
    Operand operand;
    bool variable = false;
    bool constant = false;  // bound to a literal, which a dynamic loop may not change
    int loop_depth = 0;     // dynamic loops around the binding
    bool live = true;
  };

  // The state of the function that is being lowered.
  struct Frame {
    const Tree* tree = nullptr;
    const Source* source = nullptr;
    const FunctionNode* node = nullptr;
    const NameUses* uses = nullptr;
    const PatternBindings* patterns = nullptr;
    bool prelude = false;
    Function function;
    std::vector<Binding> bindings;
    std::vector<std::uint32_t> open_blocks;  // syntax blocks that are open, by number
    std::vector<BlockId> ir_blocks;          // and their IR blocks
    std::uint32_t next_block = 0;
    int dynamic_loops = 0;
    int loops = 0;
    bool returned = false;  // some return statement was seen
    int tid_dims = 0;
  };

  struct Instance {
    const FunctionNode* node = nullptr;
    std::vector<TypeId> types;
    int function = -1;  // -1 while it is being lowered
  };

  // Errors.
  [[noreturn]] void fail(Span span, const Diagnostic& diagnostic) const;
  [[noreturn]] void fail_overload(Span span, std::string_view name,
                                  const std::vector<Operand>& arguments,
                                  const std::vector<std::string>& candidates);
  std::string name(TypeId type) const { return module_.types.name(type); }
  std::string describe(const Operand& operand) const;

  // Declarations (check/declarations.cpp).
  void declare_structs();
  void declare_constants();
  Operand constant_value(const ConstantNode& node);
  int lower_function(const Tree& tree, const Source& source, const FunctionNode& node,
                     const std::vector<TypeId>& types, const PatternBindings* patterns);
  void bind_parameters(const std::vector<TypeId>& types);
  Operand add_parameter(std::string_view name, TypeId type, std::uint32_t argument);
  int instantiate(const Tree& tree, const Source& source, const FunctionNode& node,
                  const std::vector<TypeId>& types, const PatternBindings* patterns, Span span);
  void lower_kernels();

  // Types (check/annotations.cpp).
  TypeId resolve_type(ExprId id);  // throws if it is not a type
  bool try_type(ExprId id, TypeId& type);
  bool call_type(const Expr& expr, TypeId& type);
  bool named_type(std::string_view name, TypeId& type);
  TypeId array_annotation(const Expr& expr, int ndim);
  bool match(ExprId pattern, TypeId type, PatternBindings& bindings);
  bool match_length(ExprId pattern, int length, PatternBindings& bindings);
  const PatternBinding* pattern(std::string_view name) const;
  Scalar promoted(Scalar scalar) const;
  std::string_view callee_name(const Expr& expr, bool& is_module) const;
  int constant_int(ExprId id, std::string_view what);

  // Statements (check/statements.cpp, check/assignments.cpp).
  BlockId open_block(Range range, bool fill = true);
  void close_block(BlockId outer);
  void block(Range range);
  void statement(const Stmt& stmt);
  void branch(const Stmt& stmt);
  void while_loop(const Stmt& stmt);
  void for_loop(const Stmt& stmt);
  void unrolled_loop(const Stmt& stmt, std::int64_t start, std::int64_t stop, std::int64_t step);
  void give(const Stmt& stmt);
  void check(const Stmt& stmt);
  void assign(const Stmt& stmt);
  void augmented(const Stmt& stmt);
  void assign_to(ExprId target, Operand value, Span span);
  void assign_tuple(const Expr& target, const Operand& value, Span span);
  void assign_name(std::string_view name, Operand value, Span span);
  void assign_component(ExprId target, const Operand& value, Span span);
  Operand insert_path(Operand whole, const std::vector<ExprId>& path, std::size_t at,
                      const Operand& value, Span span);
  void store(const Operand& array, const std::vector<ValueId>& indices, const Operand& value,
             Span span);
  void check_same(TypeId found, TypeId expected, Span span, std::string_view what);

  // Expressions (check/expressions.cpp).
  Operand expression(ExprId id);
  Operand value(ExprId id);  // a scalar, vector, … ; throws for types, arrays and None
  Operand name_expression(const Expr& expr);
  Operand literal(const Expr& expr);
  Operand attribute(const Expr& expr);
  Operand attribute_of(const Operand& object, std::string_view name, Span span);
  Operand subscript(const Expr& expr);
  Operand index_value(const Operand& object, const std::vector<ValueId>& indices, Span span);
  std::vector<ValueId> indices(const Expr& expr);
  Operand index_array(const Operand& array, const std::vector<ValueId>& indices, Span span);
  std::vector<ValueId> element(const Operand& array, const std::vector<ValueId>& subscripts);
  ValueId from_end(const Operand& array, ValueId subscript, int dim);
  Operand slice_vector(const Operand& object, const Expr& slice, Span span);
  Operand conditional(const Expr& expr);
  Operand logical(const Expr& expr);
  Operand compare(const Expr& expr);
  Operand compare_pair(std::string_view op, Operand a, Operand b, Span span);
  ValueId truth(const Operand& operand, Span span);
  bool is_pure(BlockId block) const;
  void splice(BlockId block);
  Operand read_binding(Binding& binding);

  // Operators (check/operators.cpp).
  Operand unary(std::string_view op, Operand a, Span span);
  Operand binary(std::string_view op, Operand a, Operand b, Span span);
  Operand arithmetic(Op op, std::string_view text, Operand a, Operand b, Span span);
  void adapt_literals(Operand& a, Operand& b);

  // Calls (check/calls.cpp, check/special.cpp, check/constructors.cpp).
  Operand call(const Expr& expr);
  Operand call_user(std::string_view name, const Expr& expr);
  Operand call_prelude(std::string_view name, std::vector<Operand> arguments, Span span);
  Operand call_builtin(const Builtin& builtin, const Expr& expr);
  Operand call_primitive(const Builtin& builtin, std::vector<Operand> arguments, Span span);
  // Whether an array with such elements takes the atomic operation.
  bool takes_atomic(Op op, TypeId element) const;
  Operand call_atomic(const Builtin& builtin, const Expr& expr);
  Operand call_special(const Builtin& builtin, const Expr& expr);
  Operand call_type_object(TypeId type, const Expr& expr);
  Operand emit_call(int function, const std::vector<Operand>& arguments, Span span);
  void flatten(const Operand& operand, std::vector<ValueId>& out);
  Operand cast_scalar(TypeId type, const Expr& expr);
  Operand make_vector(TypeId type, std::vector<Operand> parts, Span span);
  Operand make_struct(TypeId type, const Expr& expr);
  Operand convert_composite(const Operand& value, TypeId type);
  Operand prelude_form(std::string_view name, const Expr& expr, bool& found);
  std::vector<Operand> arguments(const Expr& expr);
  // Arguments in the order of `names`, by position or keyword; absent ones have kind none.
  std::vector<ExprId> ordered(const Expr& expr, std::initializer_list<std::string_view> names,
                              std::size_t required, std::string_view callee);
  bool is_user_function(std::string_view name) const;
  void check_arity(const Expr& expr, std::size_t least, std::size_t most, std::string_view name);

  // Bindings.
  Binding* find_binding(std::string_view name);
  const NameUse* use_of(std::string_view name) const;
  ValueId declare(std::string_view name, TypeId type, Span span);
  Operand group_of(Operand::Kind kind, TypeId type, std::vector<Operand> members);
  std::vector<std::string_view> visible_names();
  [[noreturn]] void fail_unknown(std::string_view name, Span span);

  const Expr& expr(ExprId id) const { return frame_->tree->exprs[id]; }
  Builder& b() { return builder_; }

  const CompileOptions& options_;
  std::shared_ptr<const Source> source_;
  Tree tree_;
  Module module_;
  std::vector<std::vector<Operand>> groups_;
  std::vector<Instance> instances_;
  std::vector<std::pair<std::string_view, TypeId>> aliases_;  // names of types
  std::vector<std::string_view> busy_constants_;
  Frame* frame_ = nullptr;
  Function nothing_;  // the builder's target before the first function
  Builder builder_;
  int depth_ = 0;  // of calls being lowered
};

}  // namespace causeway::lang
