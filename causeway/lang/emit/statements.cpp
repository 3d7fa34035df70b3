// Instructions as C++ statements.
#include "causeway/lang/emit/writer.h"

namespace causeway::lang::emit_text {

FunctionWriter::FunctionWriter(Program& program, int index, std::string& code)
    : program_(program),
      module_(program.module),
      function_(program.module.functions[static_cast<std::size_t>(index)]),
      index_(index),
      code_(code),
      inlining_(program.module, function_),
      scope_(&program.globals),
      names_(function_.insts.size()),
      declared_(function_.insts.size()) {
  if (!function_.helper) lines.reserve(64);
  find_own_elements();
}

std::size_t FunctionWriter::begin_line(Span span) {
  if (span.end > span.begin && !function_.helper) lines.push_back({line_number_, span});
  code_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  return code_.size();
}

void FunctionWriter::end_line() {
  code_ += '\n';
  ++line_number_;
}

const std::string& FunctionWriter::name_of(ValueId id) {
  if (names_[id].empty())
    names_[id] = function_[id].name.empty() ? temporary() : scope_.unique(function_[id].name);
  return names_[id];
}

void FunctionWriter::block(BlockId id) {
  const std::size_t mark = scope_.mark();
  for (std::size_t at = 0; at < function_.blocks[id].insts.size(); ++at) statement(id, at);
  scope_.release(mark);
}

bool FunctionWriter::block_is_empty(BlockId id) const { return function_.blocks[id].insts.empty(); }

// "const float x = ": before the value, which is written first since it may need other types.
const std::string& FunctionWriter::declaration(ValueId id) {
  const Inst& inst = function_[id];
  const bool changes = inst.op == Op::insert || inst.op == Op::insert_field;
  declaration_ = changes ? "" : "const ";
  declaration_.append(program_.type(inst.type)).append(" ").append(name_of(id)).append(" = ");
  return declaration_;
}

// Whether an assignment precedes all other uses of a variable in its block: it then declares it.
bool FunctionWriter::is_set_first(BlockId block, std::size_t at) const {
  const std::vector<ValueId>& insts = function_.blocks[block].insts;
  for (std::size_t i = at + 1; i < insts.size(); ++i) {
    const Inst& next = function_[insts[i]];
    const bool here = next.count > 0 && function_.arg(next, 0) == insts[at];
    if (next.op == Op::set && here) return true;
    if (next.op == Op::get ? here : next.blocks[0] != kAbsent && next.op != Op::cond) return false;
  }
  return false;
}

void FunctionWriter::statement(BlockId block, std::size_t at) {
  const std::vector<ValueId>& insts = function_.blocks[block].insts;
  const ValueId id = insts[at];
  const Inst& inst = function_[id];
  switch (inst.op) {
    case Op::var:
      name_of(id);
      declared_[id] = !is_set_first(block, at);
      if (declared_[id]) line(inst.span, program_.type(inst.type), ' ', names_[id], "{};");
      return;
    case Op::set: return set(inst);
    case Op::store: return store(inst);
    case Op::branch: return branch(inst, false);
    case Op::loop: return loop(inst, id);
    case Op::repeat: return repeat(inst);
    case Op::leave: return line(inst.span, "break;");
    case Op::proceed: return line(inst.span, "continue;");
    case Op::give: return give(inst);
    case Op::check:
      program_.uses_assert = true;
      return line(inst.span, "assert(", Value{function_.arg(inst, 0)}, ");");
    case Op::print: return print(inst);
    case Op::push: return line(inst.span, "push(tape, ", Value{function_.arg(inst, 0)}, ");");
    case Op::pop:
      line(program_.type(inst.type), ' ', name_of(id), ';');
      return line(inst.span, "pop(tape, ", names_[id], ");");
    case Op::tape_check:
      // The threads of a block leave together: block reductions need all of them.
      open(program_.uses_blocks ? "if (__syncthreads_or(tape.top > tape.capacity)) {"
                                : "if (tape.top > tape.capacity) {");
      line(program_.cuda() ? "atomicMax(tape_needed, tape.top);"
                           : "if (*tape_needed < tape.top) *tape_needed = tape.top;");
      line(in_kernel_loop_ ? "continue;" : "return;");
      return close();
    case Op::yield: return;
    case Op::block_sum:
    case Op::block_min:
    case Op::block_max: {
      const std::string reduce = program_.need_block(inst.op, inst.type);
      return line(inst.span, declaration(id), reduce, '(', Value{function_.arg(inst, 0)}, ");");
    }
    default: break;
  }
  if (is_atomic(inst.op)) return atomic(inst, id);
  if (inlining_.inlined(id)) return;
  if (inst.op == Op::cond) return cond(inst, id);
  if (inst.op == Op::insert || inst.op == Op::insert_field)
    return insert(inst, id, at + 1 < insts.size() ? insts[at + 1] : kAbsent);
  const bool used = inlining_.uses(id) > 0;
  const bool call_for_effect =
      inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects;
  if (!used && !call_for_effect) return;
  const std::size_t begin = begin_line(inst.span);
  raw(id);
  enclose(begin, inst.type == kNone || !used ? std::string_view() : declaration(id), ";");
  end_line();
}

bool FunctionWriter::is_variable_of(ValueId id, ValueId var) const {
  return function_[id].op == Op::get && function_.arg(function_[id], 0) == var &&
         inlining_.inlined(id);
}

// "+=" if value = old + operand can be written target += operand, else empty.
std::string_view FunctionWriter::compound(const Inst& value, ValueId old) const {
  if (value.count != 2 || function_.arg(value, 0) != old) return {};
  const Scalar s = module_.types[value.type].scalar;
  if (!module_.types.is_scalar(value.type) || s == Scalar::f16) return {};
  switch (value.op) {
    case Op::add: return "+=";
    case Op::sub: return "-=";
    case Op::mul: return "*=";
    case Op::div: return "/=";
    case Op::mod: return is_float(s) ? "" : "%=";
    case Op::bit_and: return "&=";
    case Op::bit_or: return "|=";
    case Op::bit_xor: return "^=";
    case Op::shl: return "<<=";
    case Op::shr: return ">>=";
    default: return {};
  }
}

void FunctionWriter::set(const Inst& inst) {
  const ValueId var = function_.arg(inst, 0);
  const ValueId value = function_.arg(inst, 1);
  const std::string& name = names_[var];
  if (!declared_[var]) {
    declared_[var] = true;
    return line(inst.span, program_.type(function_[var].type), ' ', name, " = ", Value{value}, ';');
  }
  const Inst& made = function_[value];
  const bool part = made.op == Op::insert || made.op == Op::insert_field;
  if (part && names_[value] == name) return;  // written in place
  if (inlining_.inlined(value) && made.count == 2 && is_variable_of(function_.arg(made, 0), var)) {
    const std::string_view op = compound(made, function_.arg(made, 0));
    if (!op.empty()) return line(inst.span, name, ' ', op, ' ', Value{function_.arg(made, 1)}, ';');
  }
  line(inst.span, name, " = ", Value{value}, ';');
}

// v with one component replaced: in place if v is a variable that gets the result by the `next`
// instruction, else a copy.
void FunctionWriter::insert(const Inst& inst, ValueId id, ValueId next) {
  const ValueId whole = function_.arg(inst, 0);
  const Inst& source = function_[whole];
  const bool chain = (source.op == Op::insert || source.op == Op::insert_field) &&
                     inlining_.uses(whole) == 1 && !names_[whole].empty();
  const bool in_place = next != kAbsent && function_[next].op == Op::set &&
                        function_.arg(function_[next], 1) == id && inlining_.uses(id) == 1 &&
                        is_variable_of(whole, function_.arg(function_[next], 0));
  if (in_place) {
    names_[id] = names_[function_.arg(function_[next], 0)];
  } else if (chain) {
    names_[id] = names_[whole];
  } else {
    const std::size_t begin = begin_line(inst.span);
    expr(whole);
    enclose(begin, declaration(id), ";");
    end_line();
  }
  replace_part(inst, names_[id]);
}

// Assigns the component in a variable that holds the rest.
void FunctionWriter::replace_part(const Inst& inst, const std::string& name) {
  const Value value{function_.arg(inst, inst.count - 1)};
  const TypeId type = inst.type;
  if (inst.op == Op::insert_field) {
    const std::string_view field =
        module_.types.structure(type).fields[static_cast<std::size_t>(inst.imm)].name;
    return line(inst.span, name, '.', field, is_reserved(field) ? "_ = " : " = ", value, ';');
  }
  const ValueId first = function_.arg(inst, 1);
  const bool matrix = module_.types.is(type, TypeKind::mat);
  if (matrix && inst.count == 4) {
    return line(inst.span, name, ".m[", Value{first}, "][", Value{function_.arg(inst, 2)},
                "] = ", value, ';');
  }
  if (!matrix && function_[first].op == Op::constant) {
    return line(inst.span, name, program_.component(type, static_cast<int>(function_[first].imm)),
                " = ", value, ';');
  }
  const std::string with = matrix ? program_.need_with_row(type) : program_.need_with(type);
  line(inst.span, name, " = ", with, '(', name, ", ", Value{first}, ", ", value, ");");
}

bool FunctionWriter::same_place(const Inst& load, const Inst& store) const {
  if (load.op != Op::load || load.count + 1 != store.count) return false;
  for (std::uint32_t i = 0; i < load.count; ++i) {
    const ValueId a = function_.arg(load, i);
    const ValueId b = function_.arg(store, i);
    if (a == b) continue;
    const Inst& x = function_[a];
    const Inst& y = function_[b];
    const bool equal = x.op == y.op && ((x.op == Op::constant && x.imm == y.imm) ||
                                        (x.op == Op::tid && x.imm == y.imm));
    if (!equal) return false;
  }
  return true;
}

void FunctionWriter::store(const Inst& inst) {
  ValueId value = function_.arg(inst, inst.count - 1);
  const Inst& made = function_[value];
  std::string_view op;
  if (inlining_.inlined(value) && made.count == 2) {
    const ValueId old = function_.arg(made, 0);
    if (inlining_.inlined(old) && same_place(function_[old], inst)) op = compound(made, old);
  }
  if (op.empty()) {
    op = "=";
  } else {
    value = function_.arg(made, 1);
  }
  begin_line(inst.span);
  element(inst, inst.count - 2);
  write(' ', op, ' ', Value{value}, ';');
  end_line();
}

void FunctionWriter::branch(const Inst& inst, bool chained) {
  const ValueId condition = function_.arg(inst, 0);
  const bool only_else = block_is_empty(inst.blocks[0]) && !block_is_empty(inst.blocks[1]);
  open(inst.span, chained ? "} else if (" : "if (", only_else ? "!" : "",
       Value{condition, only_else ? int{kUnary} : 0}, ") {");
  block(inst.blocks[only_else ? 1 : 0]);
  const BlockId other = inst.blocks[1];
  if (only_else || block_is_empty(other)) return close();
  // else if: the block is one branch, and its other instructions are part of the condition.
  const auto& insts = function_.blocks[other].insts;
  bool chain = function_[insts.back()].op == Op::branch;
  for (std::size_t i = 0; i + 1 < insts.size(); ++i) chain = chain && inlining_.inlined(insts[i]);
  --depth_;
  if (chain) return branch(function_[insts.back()], true);
  open("} else {");
  block(other);
  close();
}

void FunctionWriter::loop(const Inst& inst, ValueId id) {
  const std::size_t mark = scope_.mark();
  const std::string& name = name_of(id);
  const Value stop{function_.arg(inst, 1), kRelation + 1};
  const Value step{function_.arg(inst, 2), kRelation + 1};
  const Inst& by = function_[step.id];
  begin_line(inst.span);
  write("for (int ", name, " = ", Value{function_.arg(inst, 0)}, "; ");
  if (by.op != Op::constant) {
    write(step, " > 0 ? ", name, " < ", stop, " : ", step, " < 0 && ", name, " > ", stop);
    write("; ", name, " += ", step);
  } else {
    write(name, by.imm > 0 ? " < " : " > ", stop, "; ");
    if (by.imm == 1 || by.imm == -1) {
      write(by.imm == 1 ? "++" : "--", name);
    } else {
      write(name, by.imm > 0 ? " += " : " -= ", std::to_string(by.imm > 0 ? by.imm : -by.imm));
    }
  }
  put(") {");
  end_line();
  ++depth_;
  block(inst.blocks[0]);
  close();
  scope_.release(mark);
}

void FunctionWriter::repeat(const Inst& inst) {
  const auto& header = function_.blocks[inst.blocks[0]].insts;
  const ValueId condition = function_.arg(function_[header.back()], 0);
  if (inlining_.is_expression(inst.blocks[0])) {
    open(inst.span, "while (", Value{condition}, ") {");
  } else {
    open(inst.span, "while (true) {");
    block(inst.blocks[0]);
    line("if (!", Value{condition, kUnary}, ") break;");
  }
  block(inst.blocks[1]);
  close();
}

void FunctionWriter::cond(const Inst& inst, ValueId id) {
  if (inlining_.is_expression(inst.blocks[0]) && inlining_.is_expression(inst.blocks[1])) {
    const std::size_t begin = begin_line(inst.span);
    conditional(inst);
    enclose(begin, declaration(id), ";");
    return end_line();
  }
  line(inst.span, program_.type(inst.type), ' ', name_of(id), ';');
  open(inst.span, "if (", Value{function_.arg(inst, 0)}, ") {");
  for (int i = 0; i < 2; ++i) {
    const BlockId side = inst.blocks[i];
    block(side);
    line(names_[id], " = ", Value{function_.arg(function_[function_.blocks[side].insts.back()], 0)},
         ';');
    if (i == 1) break;
    --depth_;
    open("} else {");
  }
  close();
}

void FunctionWriter::give(const Inst& inst) {
  if (function_.kind == FunctionKind::kernel)
    return line(inst.span, in_kernel_loop_ ? "continue;" : "return;");
  if (inst.count == 0) return line(inst.span, "return;");
  if (inst.count == 1) return line(inst.span, "return ", Value{function_.arg(inst, 0)}, ';');
  begin_line(inst.span);
  for (std::uint32_t i = 0; i < inst.count; ++i) {
    put(i > 0 ? ", " : "return {");
    argument(function_.arg(inst, i));
  }
  put("};");
  end_line();
}

void FunctionWriter::print(const Inst& inst) {
  program_.uses_printf = true;
  begin_line(inst.span);
  write("printf(\"", inst.name);
  const bool plain = inst.name.empty();
  for (std::uint32_t i = 0; plain && i < inst.count; ++i) {
    const Scalar s = module_.types[function_[function_.arg(inst, i)].type].scalar;
    const bool wide = size_of(s) == 8;
    put(i > 0 ? " " : "");
    put(is_float(s) ? "%g" : is_unsigned(s) ? (wide ? "%llu" : "%u") : (wide ? "%lld" : "%d"));
  }
  put(plain ? "\\n\"" : "\"");
  for (const ValueId operand : function_.args(inst)) {
    const bool half = module_.types[function_[operand].type].scalar == Scalar::f16;
    write(half ? ", (float)" : ", ", Value{operand, kUnary});
  }
  put(");");
  end_line();
}

}  // namespace causeway::lang::emit_text
