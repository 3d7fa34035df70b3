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
std::string native(Op op, Scalar s) {
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
  std::string body;
  for (const Field& field : module.types.structure(id).fields) {
    if (!module.types.has_float(field.type)) continue;
    const bool plain = cuda() && module.types.is_scalar(field.type);
    const std::string one = plain ? "atomicAdd" : need_atomic(Op::atomic_add, field.type);
    const std::string name = std::string(field.name) + (is_reserved(field.name) ? "_" : "");
    body += "  " + one + "(&address->" + name + ", value." + name + ");\n";
  }
  const std::string t = type(id);
  helper("atomic_add " + std::to_string(id),
         qualifier() + "void atomic_add(" + t + "* address, " + t + " value) {\n" + body + "}\n");
  return "atomic_add";
}

// atomic_add(address, value) and the like for element types and operations CUDA lacks, and for C++.
std::string Program::need_atomic(Op op, TypeId element) {
  const std::string name = "atomic_" + std::string(verb(op));
  if (module.types.is(element, TypeKind::structure)) return need_struct_atomic(element);
  const std::string key = name + " " + std::to_string(element);
  if (helper_keys_.contains(key)) return name;
  const std::string t = type(element);
  const Scalar s = module.types[element].scalar;
  const bool cas = op == Op::atomic_cas;
  const std::string head = qualifier() + t + " " + name + "(" + t + "* address, " +
                           (cas ? t + " compare, " : "") + t + " value) {\n";
  if (module.types.is_composite(element)) {
    const std::string one =
        cuda() && !native(op, s).empty() ? native(op, s) : need_atomic(op, scalar_type(s));
    std::string values;
    for (int i = 0; i < module.types.count(element); ++i) {
      values += fmt::format("{}{}(&address->{}, value{})", i > 0 ? ", " : "", one,
                            component(element, i).substr(1), component(element, i));
    }
    helper(key, head + "  return {" + values + "};\n}\n");
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
    helper(key, head + "  const " + t + " old = *address;\n" + body + "  return old;\n}\n");
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
  helper(key, head + body + "}\n");
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
  const std::string t = type(id);
  const Scalar s = module.types[id].scalar;
  const std::string step =
      op == Op::block_sum ? "values[i] + values[i + stride]"
      : is_float(s)
          ? fmt::format("{}{}(values[i], values[i + stride])",
                        op == Op::block_min ? "fmin" : "fmax", s == Scalar::f64 ? "" : "f")
          : fmt::format("values[i] {} values[i + stride] ? values[i] : values[i + stride]",
                        op == Op::block_min ? "<" : ">");
  helper(name + t, fmt::format(R"({}{} {}({} x) {{
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
                               qualifier(), t, name, t, t, step));
  return name;
}

// Whether the indices are exactly the thread's, and no other access of the array has others: then
// no other thread touches the element.
bool FunctionWriter::unique_index(const Inst& inst) const {
  if (function_.kind != FunctionKind::kernel) return false;
  const ValueId array = function_.arg(inst, 0);
  const int ndim = module_.types[function_[array].type].ndim;
  if (ndim != function_.dims || function_[array].op != Op::param) return false;
  for (const Inst& other : function_.insts) {
    const bool access = other.op == Op::load || other.op == Op::store || is_atomic(other.op);
    const bool escapes = other.op == Op::call || other.op == Op::view;
    if (escapes) {
      for (const ValueId operand : function_.args(other)) {
        if (operand == array) return false;
      }
    }
    if (!access || function_.arg(other, 0) != array) continue;
    for (int d = 0; d < ndim; ++d) {
      const Inst& index = function_[function_.arg(other, 1 + static_cast<std::uint32_t>(d))];
      if (index.op != Op::tid || index.imm != d) return false;
    }
  }
  return true;
}

// The function for scalars of the type.
std::string FunctionWriter::atomic_call(Op op, TypeId type) {
  const std::string name = native(op, module_.types[type].scalar);
  return name.empty() ? program_.need_atomic(op, type) : name;
}

void FunctionWriter::atomic(const Inst& inst, ValueId id) {
  if (const auto partial = partials_.find(id); partial != partials_.end()) {
    const std::string value = expr(function_.arg(inst, inst.count - 1));
    if (inst.op == Op::atomic_sub) return line(partial->second + " -= " + value + ";", inst.span);
    return combine(inst, partial->second, value);
  }
  const std::uint32_t n_values = inst.op == Op::atomic_cas ? 2 : 1;
  const std::string place = element(inst, inst.count - 1 - n_values);
  const ValueId value = function_.arg(inst, inst.count - 1);
  const Scalar s = module_.types[inst.type].scalar;
  const bool used = inlining_.uses(id) > 0;
  const bool plain = !used && (!program_.cuda() || unique_index(inst)) && s != Scalar::f16 &&
                     module_.types.is_scalar(inst.type);
  static constexpr std::pair<Op, std::string_view> kCompound[] = {{Op::atomic_add, "+="},
                                                                  {Op::atomic_sub, "-="},
                                                                  {Op::atomic_and, "&="},
                                                                  {Op::atomic_or, "|="},
                                                                  {Op::atomic_xor, "^="}};
  for (const auto& [op, text] : kCompound) {
    if (plain && op == inst.op)
      return line(place + " " + std::string(text) + " " + expr(value) + ";", inst.span);
  }
  const bool scalar = module_.types.is_scalar(inst.type);
  std::string call = program_.cuda() && scalar ? native(inst.op, s) : "";
  std::string first;
  if (inst.op == Op::atomic_cas) first = expr(function_.arg(inst, inst.count - 2)) + ", ";
  std::string amount = argument(value);
  if (call.empty() && program_.cuda() && scalar && inst.op == Op::atomic_sub &&
      (is_float(s) || s == Scalar::u64)) {
    call = "atomicAdd";
    amount = "-" + expr(value, kUnary);
    if (amount[1] == '-') amount = "-(" + amount.substr(1) + ")";
  }
  if (call.empty()) call = program_.need_atomic(inst.op, inst.type);
  const std::string text_call = call + "(&" + place + ", " + first + amount + ")";
  if (used) return declare(id, text_call);
  line(text_call + ";", inst.span);
}

}  // namespace causeway::lang::emit_text
