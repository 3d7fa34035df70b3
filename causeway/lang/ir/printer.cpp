// Prints IR text. Every value has a unique name: that of the source, with a number if it is taken.
#include "causeway/lang/ir/ir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

namespace causeway::lang {

int Module::find(std::string_view name) const {
  for (std::size_t i = functions.size(); i-- > 0;) {
    if (functions[i].name == name && !functions[i].helper) return static_cast<int>(i);
  }
  return -1;
}

namespace {

class Printer {
 public:
  Printer(const Module& module, const Function& function, std::string& out,
          std::vector<Span>* spans = nullptr)
      : module_(module),
        function_(function),
        names_(function.insts.size()),
        types_(module.types.size()),
        out_(out),
        spans_(spans) {}

  void run() {
    out_ += function_.kind == FunctionKind::kernel ? "kernel @" : "func @";
    out_.append(function_.name).append("(");
    for (std::size_t i = 0; i < function_.params.size(); ++i) {
      const Param& param = function_.params[i];
      if (i > 0) out_ += ", ";
      name(static_cast<ValueId>(i), param.name);
      out_.append(names_[i]).append(": ").append(type(param.type));
      if (param.role == ParamRole::gradient) out_ += " gradient";
      if (param.argument != i) out_ += " of " + std::to_string(param.argument);
      if (param.content == ArrayContent::scratch) out_ += " scratch";
      if (param.content == ArrayContent::after) out_ += " after";
    }
    out_ += ")";
    if (function_.result != kNone) out_.append(" -> ").append(type(function_.result));
    if (function_.kind == FunctionKind::kernel) out_ += " dims " + std::to_string(function_.dims);
    if (function_.helper) out_ += " helper";
    if (!function_.symbol.empty()) out_ += " symbol \"" + std::string(function_.symbol) + "\"";
    out_ += " {\n";
    block(0, 1);
    out_ += "}\n";
  }

 private:
  static std::string quoted(std::string_view text) {
    std::string result;
    for (const char c : text) result += c == '"' ? "\\x22" : c == '\n' ? "\\n" : std::string(1, c);
    return result;
  }

  const std::string& type(TypeId id) {
    if (types_[id].empty()) types_[id] = module_.types.ir_name(id);
    return types_[id];
  }

  void name(ValueId id, std::string_view hint) {
    std::string& text = names_[id];
    text = '%';
    if (hint.empty()) {
      text += std::to_string(counter_++);
      return;
    }
    text += hint;
    const int uses = used_[hint]++;
    if (uses > 0) text.append("'").append(std::to_string(uses));
  }

  // The line that is being written comes from `span`.
  void note(Span span) {
    if (spans_ == nullptr) return;
    spans_->resize(static_cast<std::size_t>(std::count(out_.begin(), out_.end(), '\n')) + 1);
    spans_->back() = span;
  }

  void indent(int depth) { out_.append(static_cast<std::size_t>(depth) * 2, ' '); }

  void block(BlockId id, int depth) {
    for (const ValueId inst : function_.blocks[id].insts) instruction(inst, depth);
  }

  void constant(const Inst& inst) {
    const Scalar scalar = module_.types[inst.type].scalar;
    if (!is_float(scalar)) {
      fmt::format_to(std::back_inserter(out_), " {}", inst.imm);
    } else if (std::isnan(inst.real())) {
      out_ += " nan";
    } else {
      fmt::format_to(std::back_inserter(out_), " {}", inst.real());
    }
  }

  static bool shows_imm(Op op) {
    return op == Op::field || op == Op::insert_field || op == Op::tid || op == Op::shape ||
           op == Op::result;
  }

  void instruction(ValueId id, int depth) {
    const Inst& inst = function_[id];
    note(inst.span);
    indent(depth);
    if (inst.type != kNone) {
      name(id, inst.name);
      out_.append(names_[id]).append(" = ");
    }
    out_ += info(inst.op).name;
    if (inst.op == Op::constant) constant(inst);
    if (inst.op == Op::call) {
      out_.append(" @").append(module_.functions[static_cast<std::size_t>(inst.imm)].name);
      out_ += "#" + std::to_string(inst.imm);
    }
    if (inst.op == Op::check || inst.op == Op::print) {
      out_ += " \"" + quoted(inst.name) + "\"";
    }
    bool comma = inst.op == Op::call || inst.op == Op::check || inst.op == Op::print;
    for (const ValueId operand : function_.args(inst)) {
      out_ += comma ? ", " : " ";
      out_ += names_[operand];
      comma = true;
    }
    if (shows_imm(inst.op)) out_ += (comma ? ", " : " ") + std::to_string(inst.imm);
    if (inst.type != kNone) out_.append(" : ").append(type(inst.type));
    for (const BlockId inner : inst.blocks) {
      if (inner == kAbsent) continue;
      out_ += " {\n";
      block(inner, depth + 1);
      indent(depth);
      out_ += "}";
    }
    out_ += "\n";
  }

  const Module& module_;
  const Function& function_;
  std::vector<std::string> names_;
  std::vector<std::string> types_;  // their names; empty before the first use
  std::unordered_map<std::string_view, int> used_;
  std::string& out_;
  std::vector<Span>* spans_;
  int counter_ = 0;
};

}  // namespace

std::string print_ir(const Module& module, const Function& function, std::vector<Span>* spans) {
  std::string out;
  Printer(module, function, out, spans).run();
  return out;
}

std::string print_ir(const Module& module) {
  std::string out;
  out.reserve(4096);
  for (const StructInfo& info : module.types.structures()) {
    out += "struct $" + std::string(info.name) + " {";
    for (const Field& field : info.fields) {
      out += (out.back() == '{' ? "" : ", ") + std::string(field.name) + ": " +
             module.types.ir_name(field.type);
    }
    out += "}\n";
  }
  for (const Function& function : module.functions) Printer(module, function, out).run();
  return out;
}

}  // namespace causeway::lang
