// Atomic operations and block reductions: CUDA's functions if available, else helpers.
#include "causeway/lang/emit/writer.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::lang::emit_text {

namespace {

std::string_view verb(Op op) {
  switch (op) {
    case Op::atomic_add: return "add";
    case Op::atomic_sub: return "sub";
    case Op::atomic_min: return "min";
    case Op::atomic_max: return "max";
    case Op::atomic_and: return "and";
    case Op::atomic_or: return "or";
    case Op::atomic_xor: return "xor";
    case Op::atomic_exch: return "exch";
    default: return "cas";
  }
}

// CUDA's atomic function; empty if there is none.
std::string_view native(Op op, Scalar s) {
  const bool word = s == Scalar::i32 || s == Scalar::u32;
  const bool integer = word || s == Scalar::u64;
  switch (op) {
    case Op::atomic_add:
      return integer || s == Scalar::f32 || s == Scalar::f64 || s == Scalar::f16 ? "atomicAdd" : "";
    case Op::atomic_sub: return word ? "atomicSub" : "";
    case Op::atomic_min: return integer || s == Scalar::i64 ? "atomicMin" : "";
    case Op::atomic_max: return integer || s == Scalar::i64 ? "atomicMax" : "";
    case Op::atomic_and: return integer ? "atomicAnd" : "";
    case Op::atomic_or: return integer ? "atomicOr" : "";
    case Op::atomic_xor: return integer ? "atomicXor" : "";
    case Op::atomic_exch: return integer || s == Scalar::f32 ? "atomicExch" : "";
    default: return integer ? "atomicCAS" : "";
  }
}

// The new value as an expression of `old` and `value`.
std::string combined(Op op, Scalar s) {
  const std::string f = s == Scalar::f64 ? "" : "f";
  switch (op) {
    case Op::atomic_add: return "old + value";
    case Op::atomic_sub: return "old - value";
    case Op::atomic_min:
      return is_float(s) ? "fmin" + f + "(old, value)" : "old < value ? old : value";
    case Op::atomic_max:
      return is_float(s) ? "fmax" + f + "(old, value)" : "old > value ? old : value";
    case Op::atomic_and: return "old & value";
    case Op::atomic_or: return "old | value";
    case Op::atomic_xor: return "old ^ value";
    default: return "value";
  }
}

}  // namespace

std::string Program::need_struct_atomic(TypeId id) {
  if (!first_use("atomic_add " + std::to_string(id))) return "atomic_add";
  std::string body;
  for (const Field& field : module.types.structure(id).fields) {
    if (!module.types.has_float(field.type)) continue;
    const bool plain = cuda() && module.types.is_scalar(field.type);
    const std::string one = plain ? "atomicAdd" : need_atomic(Op::atomic_add, field.type);
    const std::string name = std::string(field.name) + (is_reserved(field.name) ? "_" : "");
    body += "  " + one + "(&address->" + name + ", value." + name + ");\n";
  }
  const std::string& t = type(id);
  definitions_ +=
      qualifier() + "void atomic_add(" + t + "* address, " + t + " value) {\n" + body + "}\n\n";
  return "atomic_add";
}

// atomic_add(address, value) and the like for element types and operations CUDA lacks, and for C++.
std::string Program::need_atomic(Op op, TypeId element) {
  const std::string name = "atomic_" + std::string(verb(op));
  if (module.types.is(element, TypeKind::structure)) return need_struct_atomic(element);
  if (!first_use(name + " " + std::to_string(element))) return name;
  const std::string& t = type(element);
  const Scalar s = module.types[element].scalar;
  const bool cas = op == Op::atomic_cas;
  const std::string head = qualifier() + t + " " + name + "(" + t + "* address, " +
                           (cas ? t + " compare, " : "") + t + " value) {\n";
  if (module.types.is_composite(element)) {
    const std::string one = cuda() && !native(op, s).empty() ? std::string(native(op, s))
                                                             : need_atomic(op, scalar_type(s));
    std::string values;
    for (int i = 0; i < module.types.count(element); ++i) {
      values += fmt::format("{}{}(&address->{}, value{})", i > 0 ? ", " : "", one,
                            component(element, i).substr(1), component(element, i));
    }
    definitions_ += head + "  return {" + values + "};\n}\n\n";
    return name;
  }
  if (!cuda()) {
    std::string result = combined(op, s);
    if (s == Scalar::f16)
      result = op == Op::atomic_add   ? "(half)((float)old + (float)value)"
               : op == Op::atomic_sub ? "(half)((float)old - (float)value)"
                                      : "(half)" + result;
    const std::string body = cas ? "  if (old == compare) *address = value;\n"
                                 : "  *address = (" + t + ")(" + result + ");\n";
    definitions_ += head + "  const " + t + " old = *address;\n" + body + "  return old;\n}\n\n";
    return name;
  }
  const std::size_t size = size_of(s);
  if (size == 1) {
    fail(ErrorKind::compile, "lang.emit",
         "atomic operations on 8-bit elements are not available in CUDA");
  }
  const std::string bits = size == 2   ? "unsigned short"
                           : size == 4 ? "unsigned int"
                                       : "unsigned long long";
  const std::string to = s == Scalar::f32   ? "__float_as_uint({})"
                         : s == Scalar::f64 ? "(unsigned long long)__double_as_longlong({})"
                         : s == Scalar::f16 ? "__half_as_ushort({})"
                                            : "(" + bits + ")({})";
  const std::string from = s == Scalar::f32   ? "__uint_as_float({})"
                           : s == Scalar::f64 ? "__longlong_as_double((long long){})"
                           : s == Scalar::f16 ? "__ushort_as_half({})"
                                              : "(" + t + ")({})";
  std::string body;
  if (cas) {
    body = fmt::format("  const {0} found = atomicCAS(({0}*)address, {1}, {2});\n  return {3};\n",
                       bits, fmt::format(fmt::runtime(to), "compare"),
                       fmt::format(fmt::runtime(to), "value"),
                       fmt::format(fmt::runtime(from), "found"));
  } else {
    body = fmt::format(
        "  {0}* const words = ({0}*)address;\n  {0} seen = *words;\n  {0} assumed;\n  do {{\n    "
        "assumed = seen;\n"
        "    const {1} old = {2};\n{5}    seen = atomicCAS(words, assumed, {3});\n  }} while "
        "(assumed != seen);\n  return {4};\n",
        bits, t, fmt::format(fmt::runtime(from), "assumed"),
        fmt::format(fmt::runtime(to), "(" + t + ")(" + combined(op, s) + ")"),
        fmt::format(fmt::runtime(from), "seen"), op == Op::atomic_exch ? "    (void)old;\n" : "");
  }
  definitions_ += head + body + "}\n\n";
  return name;
}

// A tree over the threads of a block in shared memory; every thread of the block must participate.
std::string Program::need_block(Op op, TypeId id) {
  if (!cuda())
    fail(ErrorKind::compile, "lang.emit",
         "block reductions run only on a GPU; the C++ code runs threads one by one");
  const std::string name = op == Op::block_sum   ? "block_sum"
                           : op == Op::block_min ? "block_min"
                                                 : "block_max";
  const std::string& t = type(id);
  if (!first_use(name + t)) return name;
  const Scalar s = module.types[id].scalar;
  const std::string step =
      op == Op::block_sum ? "values[i] + values[i + stride]"
      : is_float(s)
          ? fmt::format("{}{}(values[i], values[i + stride])",
                        op == Op::block_min ? "fmin" : "fmax", s == Scalar::f64 ? "" : "f")
          : fmt::format("values[i] {} values[i + stride] ? values[i] : values[i + stride]",
                        op == Op::block_min ? "<" : ">");
  definitions_ += fmt::format(R"({}{} {}({} x) {{
  __shared__ {} values[1024];
  const unsigned int i = threadIdx.x;
  __syncthreads();
  values[i] = x;
  __syncthreads();
  for (unsigned int n = blockDim.x; n > 1;) {{
    const unsigned int stride = (n + 1) / 2;
    if (i + stride < n) values[i] = {};
    n = stride;
    __syncthreads();
  }}
  return values[0];
}}

)",
                              qualifier(), t, name, t, t, step);
  return name;
}

// Parameters of a kernel that every access indexes by the thread's own coordinates: no other thread
// touches the element.
void FunctionWriter::find_own_elements() {
  own_element_.resize(function_.params.size());
  if (function_.kind != FunctionKind::kernel) return;
  for (std::size_t i = 0; i < own_element_.size(); ++i) {
    const Type& type = module_.types[function_.params[i].type];
    own_element_[i] = type.kind == TypeKind::array && type.ndim == function_.dims;
  }
  for (const Inst& inst : function_.insts) {
    const bool access = inst.op == Op::load || inst.op == Op::store || is_atomic(inst.op);
    if (!access && inst.op != Op::call && inst.op != Op::view) continue;
    const auto operands = function_.args(inst);
    for (std::size_t i = 0; i < (access ? 1 : operands.size()); ++i) {
      if (operands[i] >= own_element_.size() || !own_element_[operands[i]]) continue;
      bool own = access;
      for (int d = 0; own && d < function_.dims; ++d) {
        const Inst& index = function_[operands[1 + static_cast<std::size_t>(d)]];
        own = index.op == Op::tid && index.imm == d;
      }
      own_element_[operands[i]] = own;
    }
  }
}

// The function for scalars of the type.
std::string FunctionWriter::atomic_call(Op op, TypeId type) {
  const std::string_view name = native(op, module_.types[type].scalar);
  return name.empty() ? program_.need_atomic(op, type) : std::string(name);
}

void FunctionWriter::atomic(const Inst& inst, ValueId id) {
  const ValueId value = function_.arg(inst, inst.count - 1);
  if (const auto partial = partials_.find(id); partial != partials_.end()) {
    if (inst.op == Op::atomic_sub)
      return line(inst.span, partial->second, " -= ", Value{value}, ';');
    return combine(inst, partial->second, text(value));
  }
  const std::uint32_t n_values = inst.op == Op::atomic_cas ? 2 : 1;
  const Scalar s = module_.types[inst.type].scalar;
  const bool scalar = module_.types.is_scalar(inst.type);
  const bool used = inlining_.uses(id) > 0;
  const bool plain = !used && (!program_.cuda() || is_own_element(function_.arg(inst, 0))) &&
                     s != Scalar::f16 && scalar;
  static constexpr std::pair<Op, std::string_view> kCompound[] = {{Op::atomic_add, " += "},
                                                                  {Op::atomic_sub, " -= "},
                                                                  {Op::atomic_and, " &= "},
                                                                  {Op::atomic_or, " |= "},
                                                                  {Op::atomic_xor, " ^= "}};
  const std::size_t begin = begin_line(inst.span);
  for (const auto& [op, text] : kCompound) {
    if (!plain || op != inst.op) continue;
    element(inst, inst.count - 1 - n_values);
    write(text, Value{value}, ';');
    return end_line();
  }
  std::string call(program_.cuda() && scalar ? native(inst.op, s) : "");
  const bool negated = call.empty() && program_.cuda() && inst.op == Op::atomic_sub && scalar &&
                       (is_float(s) || s == Scalar::u64);
  put("(&");
  element(inst, inst.count - 1 - n_values);
  put(", ");
  if (inst.op == Op::atomic_cas) write(Value{function_.arg(inst, inst.count - 2)}, ", ");
  const std::size_t amount = code_.size();
  if (negated) {
    call = "atomicAdd";
    expr(value, kUnary);
    if (code_[amount] == '-') enclose(amount, "(", ")");
    enclose(amount, "-", "");
  } else {
    argument(value);
  }
  if (call.empty()) call = program_.need_atomic(inst.op, inst.type);
  enclose(begin, used ? declaration(id) + call : call, ");");
  end_line();
}

}  // namespace causeway::lang::emit_text
