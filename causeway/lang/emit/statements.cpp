// Instructions as C++ statements.
#include "causeway/lang/emit/writer.h"

#include "causeway/core/error.h"

namespace causeway::lang::emit_text {

FunctionWriter::FunctionWriter(Program& program, int index)
    : program_(program),
      module_(program.module),
      function_(program.module.functions[static_cast<std::size_t>(index)]),
      index_(index),
      inlining_(program.module, function_),
      scope_(&program.globals),
      names_(function_.insts.size()),
      declared_(function_.insts.size()) {
  code.reserve(2048);
}

void FunctionWriter::line(const std::string& content, Span span) {
  if (span.end > span.begin) lines.push_back({line_number_, span});
  code.append(static_cast<std::size_t>(depth_) * 2, ' ').append(content).append("\n");
  ++line_number_;
}

void FunctionWriter::open(const std::string& head, Span span) {
  line(head, span);
  ++depth_;
}

void FunctionWriter::close(const std::string& tail) {
  --depth_;
  line(tail);
}

std::string FunctionWriter::name_of(ValueId id) {
  if (names_[id].empty())
    names_[id] = function_[id].name.empty() ? temporary() : scope_.unique(function_[id].name);
  return names_[id];
}

void FunctionWriter::block(BlockId id) {
  const std::size_t mark = scope_.mark();
  for (const ValueId inst : function_.blocks[id].insts) statement(inst);
  scope_.release(mark);
}

bool FunctionWriter::block_is_empty(BlockId id) const { return function_.blocks[id].insts.empty(); }

void FunctionWriter::declare(ValueId id, const std::string& value) {
  const Inst& inst = function_[id];
  const bool changes = inst.op == Op::insert || inst.op == Op::insert_field;
  std::string text = changes ? "" : "const ";
  text.reserve(value.size() + 48);
  text.append(program_.type(inst.type)).append(" ").append(name_of(id));
  line(text.append(" = ").append(value).append(";"), inst.span);
}

void FunctionWriter::statement(ValueId id) {
  const Inst& inst = function_[id];
  switch (inst.op) {
    case Op::var: {
      name_of(id);
      // The first assignment declares it, if it precedes all other uses in this block.
      bool first_is_set = false;
      bool found = false;
      for (const Block& candidate : function_.blocks) {
        bool after = false;
        for (const ValueId other : candidate.insts) {
          if (other == id) {
            after = true;
            continue;
          }
          if (!after || found) continue;
          const Inst& next = function_[other];
          if (next.op == Op::set && function_.arg(next, 0) == id) {
            first_is_set = true;
            found = true;
          } else if (next.blocks[0] != kAbsent || next.op == Op::get) {
            if (next.op == Op::get && function_.arg(next, 0) != id) continue;
            if (next.op == Op::cond) continue;
            found = true;
          }
        }
        if (after) break;
      }
      if (!first_is_set) {
        line(program_.type(inst.type) + " " + names_[id] + "{};", inst.span);
        declared_[id] = true;
      }
      return;
    }
    case Op::set: return set(inst);
    case Op::store: return store(inst);
    case Op::branch: return branch(inst, false);
    case Op::loop: return loop(inst, id);
    case Op::repeat: return repeat(inst);
    case Op::leave: return line("break;", inst.span);
    case Op::proceed: return line("continue;", inst.span);
    case Op::give: return give(inst);
    case Op::check:
      program_.uses_assert = true;
      return line("assert(" + expr(function_.arg(inst, 0)) + ");", inst.span);
    case Op::print: return print(inst);
    case Op::push: return line("push(tape, " + expr(function_.arg(inst, 0)) + ");", inst.span);
    case Op::pop:
      line(program_.type(inst.type) + " " + name_of(id) + ";");
      return line("pop(tape, " + names_[id] + ");", inst.span);
    case Op::tape_check: {
      // The threads of a block leave together: block reductions need all of them.
      open(program_.uses_blocks ? "if (__syncthreads_or(tape.top > tape.capacity)) {"
                                : "if (tape.top > tape.capacity) {");
      line(program_.cuda() ? "atomicMax(tape_needed, tape.top);"
                           : "if (*tape_needed < tape.top) *tape_needed = tape.top;");
      line(in_kernel_loop_ ? "continue;" : "return;");
      return close();
    }
    case Op::yield: return;
    case Op::block_sum:
    case Op::block_min:
    case Op::block_max:
      return declare(
          id, program_.need_block(inst.op, inst.type) + "(" + expr(function_.arg(inst, 0)) + ")");
    default: break;
  }
  if (is_atomic(inst.op)) return atomic(inst, id);
  if (inlining_.inlined(id)) return;
  if (inst.op == Op::cond) return cond(inst, id);
  if (inst.op == Op::insert || inst.op == Op::insert_field) return insert(inst, id);
  const bool call_for_effect =
      inst.op == Op::call && module_.functions[static_cast<std::size_t>(inst.imm)].effects;
  if (inlining_.uses(id) == 0 && !call_for_effect) return;
  int precedence = 0;
  const std::string value = raw(id, precedence);
  if (inst.type == kNone || inlining_.uses(id) == 0) return line(value + ";", inst.span);
  declare(id, value);
}

bool FunctionWriter::is_variable_of(ValueId id, ValueId var) const {
  return function_[id].op == Op::get && function_.arg(function_[id], 0) == var &&
         inlining_.inlined(id);
}

// "+" if value = old + operand can be written target += operand, else empty.
std::string FunctionWriter::compound(const std::string&, const Inst& value, ValueId old,
                                     ValueId& operand) const {
  if (value.count != 2 || function_.arg(value, 0) != old) return {};
  const TypeTable& types = module_.types;
  const Scalar s = types[value.type].scalar;
  if (!types.is_scalar(value.type) || s == Scalar::f16) return {};
  operand = function_.arg(value, 1);
  switch (value.op) {
    case Op::add: return "+";
    case Op::sub: return "-";
    case Op::mul: return "*";
    case Op::div: return "/";
    case Op::mod: return is_float(s) ? "" : "%";
    case Op::bit_and: return "&";
    case Op::bit_or: return "|";
    case Op::bit_xor: return "^";
    case Op::shl: return "<<";
    case Op::shr: return ">>";
    default: return {};
  }
}

void FunctionWriter::set(const Inst& inst) {
  const ValueId var = function_.arg(inst, 0);
  const ValueId value = function_.arg(inst, 1);
  const std::string& name = names_[var];
  if (!declared_[var]) {
    declared_[var] = true;
    return line(program_.type(function_[var].type) + " " + name + " = " + expr(value) + ";",
                inst.span);
  }
  const Inst& made = function_[value];
  const bool part = made.op == Op::insert || made.op == Op::insert_field;
  if (part && names_[value] == name) return;  // written in place
  ValueId operand = 0;
  if (inlining_.inlined(value) && made.count == 2 && is_variable_of(function_.arg(made, 0), var)) {
    const std::string op = compound(name, made, function_.arg(made, 0), operand);
    if (!op.empty()) return line(name + " " + op + "= " + expr(operand) + ";", inst.span);
  }
  line(name + " = " + expr(value) + ";", inst.span);
}

// v with one component replaced: in place if v is a variable that gets the result, else a copy.
void FunctionWriter::insert(const Inst& inst, ValueId id) {
  const ValueId whole = function_.arg(inst, 0);
  const ValueId value = function_.arg(inst, inst.count - 1);
  const TypeId type = inst.type;
  // Is the next write of the variable this one?
  ValueId target = kAbsent;
  for (const Block& candidate : function_.blocks) {
    for (std::size_t i = 0; i + 1 < candidate.insts.size(); ++i) {
      if (candidate.insts[i] != id) continue;
      const Inst& next = function_[candidate.insts[i + 1]];
      if (next.op == Op::set && function_.arg(next, 1) == id && inlining_.uses(id) == 1 &&
          is_variable_of(whole, function_.arg(next, 0))) {
        target = function_.arg(next, 0);
      }
    }
  }
  const Inst& source = function_[whole];
  const bool chain = (source.op == Op::insert || source.op == Op::insert_field) &&
                     inlining_.uses(whole) == 1 && !names_[whole].empty();
  if (target != kAbsent) {
    names_[id] = names_[target];
  } else if (chain) {
    names_[id] = names_[whole];
  } else {
    declare(id, expr(whole));
  }
  const std::string& name = names_[id];
  if (inst.op == Op::insert_field) {
    const std::string_view field =
        module_.types.structure(type).fields[static_cast<std::size_t>(inst.imm)].name;
    return line(name + "." + std::string(field) + (is_reserved(field) ? "_" : "") + " = " +
                    expr(value) + ";",
                inst.span);
  }
  const ValueId first = function_.arg(inst, 1);
  const bool matrix = module_.types.is(type, TypeKind::mat);
  if (matrix && inst.count == 3) {
    return line(name + " = " + program_.need_with_row(type) + "(" + name + ", " + expr(first) +
                    ", " + expr(value) + ");",
                inst.span);
  }
  if (matrix) {
    return line(name + ".m[" + expr(first) + "][" + expr(function_.arg(inst, 2)) +
                    "] = " + expr(value) + ";",
                inst.span);
  }
  if (function_[first].op == Op::constant) {
    const std::string place =
        name + program_.component(type, static_cast<int>(function_[first].imm));
    return line(place + " = " + expr(value) + ";", inst.span);
  }
  line(name + " = " + program_.need_with(type) + "(" + name + ", " + expr(first) + ", " +
           expr(value) + ");",
       inst.span);
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
  const std::string place = element(inst, inst.count - 2);
  const ValueId value = function_.arg(inst, inst.count - 1);
  const Inst& made = function_[value];
  if (inlining_.inlined(value) && made.count == 2) {
    const ValueId old = function_.arg(made, 0);
    ValueId operand = 0;
    if (inlining_.inlined(old) && same_place(function_[old], inst)) {
      const std::string op = compound(place, made, old, operand);
      if (!op.empty()) return line(place + " " + op + "= " + expr(operand) + ";", inst.span);
    }
  }
  line(place + " = " + expr(value) + ";", inst.span);
}

void FunctionWriter::branch(const Inst& inst, bool chained) {
  const ValueId condition = function_.arg(inst, 0);
  const bool only_else = block_is_empty(inst.blocks[0]) && !block_is_empty(inst.blocks[1]);
  const std::string test = only_else ? "!" + expr(condition, kUnary) : expr(condition);
  const std::string head = "if (" + test + ") {";
  if (chained) {
    line("} else " + head, inst.span);
    ++depth_;
  } else {
    open(head, inst.span);
  }
  block(inst.blocks[only_else ? 1 : 0]);
  const BlockId other = inst.blocks[1];
  if (only_else || block_is_empty(other)) return close();
  // else if: the block is one branch, and its other instructions are part of the condition.
  const auto& insts = function_.blocks[other].insts;
  bool chain = function_[insts.back()].op == Op::branch;
  for (std::size_t i = 0; i + 1 < insts.size(); ++i) chain = chain && inlining_.inlined(insts[i]);
  --depth_;
  if (chain) return branch(function_[insts.back()], true);
  line("} else {");
  ++depth_;
  block(other);
  close();
}

void FunctionWriter::loop(const Inst& inst, ValueId id) {
  const Inst& by = function_[function_.arg(inst, 2)];
  const std::size_t mark = scope_.mark();
  const std::string name = name_of(id);
  const std::string start = expr(function_.arg(inst, 0));
  const std::string stop = expr(function_.arg(inst, 1), kRelation + 1);
  std::string test;
  std::string update;
  if (by.op == Op::constant) {
    test = name + (by.imm > 0 ? " < " : " > ") + stop;
    update = by.imm == 1    ? "++" + name
             : by.imm == -1 ? "--" + name
             : by.imm > 0   ? name + " += " + std::to_string(by.imm)
                            : name + " -= " + std::to_string(-by.imm);
  } else {
    const std::string step = expr(function_.arg(inst, 2), kRelation + 1);
    test = step + " > 0 ? " + name + " < " + stop + " : " + step + " < 0 && " + name + " > " + stop;
    update = name + " += " + step;
  }
  open("for (int " + name + " = " + start + "; " + test + "; " + update + ") {", inst.span);
  ++loops_;
  block(inst.blocks[0]);
  --loops_;
  close();
  scope_.release(mark);
}

void FunctionWriter::repeat(const Inst& inst) {
  const auto& header = function_.blocks[inst.blocks[0]].insts;
  const ValueId condition = function_.arg(function_[header.back()], 0);
  ++loops_;
  if (inlining_.is_expression(inst.blocks[0])) {
    open("while (" + expr(condition) + ") {", inst.span);
  } else {
    open("while (true) {", inst.span);
    block(inst.blocks[0]);
    line("if (!" + expr(condition, kUnary) + ") break;");
  }
  block(inst.blocks[1]);
  --loops_;
  close();
}

void FunctionWriter::cond(const Inst& inst, ValueId id) {
  if (inlining_.is_expression(inst.blocks[0]) && inlining_.is_expression(inst.blocks[1])) {
    int precedence = 0;
    return declare(id, conditional(inst, precedence));
  }
  line(program_.type(inst.type) + " " + name_of(id) + ";", inst.span);
  open("if (" + expr(function_.arg(inst, 0)) + ") {", inst.span);
  for (int i = 0; i < 2; ++i) {
    const BlockId side = inst.blocks[i];
    block(side);
    line(names_[id] + " = " +
         expr(function_.arg(function_[function_.blocks[side].insts.back()], 0)) + ";");
    if (i == 0) {
      --depth_;
      line("} else {");
      ++depth_;
    }
  }
  close();
}

void FunctionWriter::give(const Inst& inst) {
  if (function_.kind == FunctionKind::kernel)
    return line(in_kernel_loop_ ? "continue;" : "return;", inst.span);
  if (inst.count == 0) return line("return;", inst.span);
  if (inst.count == 1) return line("return " + expr(function_.arg(inst, 0)) + ";", inst.span);
  std::string values;
  for (std::uint32_t i = 0; i < inst.count; ++i)
    values += (i > 0 ? ", " : "") + argument(function_.arg(inst, i));
  line("return {" + values + "};", inst.span);
}

void FunctionWriter::print(const Inst& inst) {
  program_.uses_printf = true;
  std::string format(inst.name);
  std::string values;
  const bool plain = format.empty();
  for (const ValueId operand : function_.args(inst)) {
    const Scalar s = module_.types[function_[operand].type].scalar;
    if (plain)
      format += (format.empty() ? "" : " ") + std::string(is_float(s) ? "%g"
                                                          : size_of(s) == 8
                                                              ? (is_unsigned(s) ? "%llu" : "%lld")
                                                          : is_unsigned(s) ? "%u"
                                                                           : "%d");
    values += ", " + std::string(s == Scalar::f16 ? "(float)" : "") + expr(operand, kUnary);
  }
  line("printf(\"" + format + (plain ? "\\n" : "") + "\"" + values + ");", inst.span);
}

}  // namespace causeway::lang::emit_text
