// Forms of CUDA kernels other than the grid-stride loop.
#include "causeway/core/error.h"
#include "causeway/lang/emit/writer.h"
#include "causeway/lang/passes/element_function.h"

#include <algorithm>

namespace causeway::lang {

bool has_form(const Module& module, int kernel, LaunchForm form) {
  const Function& function = module.functions[static_cast<std::size_t>(kernel)];
  for (const Inst& inst : function.insts) {
    if (inst.op >= Op::block_sum && inst.op <= Op::block_max)
      return form == LaunchForm::grid_stride;  // blocks are its own affair
  }
  switch (form) {
    case LaunchForm::grid_stride: return true;
    case LaunchForm::one_element: return function.dims >= 1 && function.dims <= 3;
    case LaunchForm::vectorized: return is_elementwise(module, function);
    case LaunchForm::block_reduction: break;
  }
  return !emit_text::block_reductions(module, function).empty();
}

namespace emit_text {

namespace {

// The vector of four scalars.
std::string vector_type(Scalar scalar) {
  return scalar == Scalar::f32 ? "float4" : scalar == Scalar::i32 ? "int4" : "uint4";
}

bool same_for_all_threads(const Function& function, ValueId id) {
  return function[id].op == Op::constant || function[id].op == Op::param;
}

}  // namespace

bool returns_inside_loop(const Function& function, BlockId id, bool in_loop) {
  for (const ValueId inst_id : function.blocks[id].insts) {
    const Inst& inst = function[inst_id];
    if (inst.op == Op::give && in_loop) return true;
    const bool loops = inst.op == Op::loop || inst.op == Op::repeat;
    for (const BlockId inner : inst.blocks) {
      if (inner != kAbsent && returns_inside_loop(function, inner, in_loop || loops)) return true;
    }
  }
  return false;
}

std::vector<ValueId> block_reductions(const Module& module, const Function& function) {
  std::vector<ValueId> found;
  if (returns_inside_loop(function)) return found;
  for (ValueId id = 0; id < function.insts.size(); ++id) {
    const Inst& inst = function[id];
    if (inst.op < Op::atomic_add || inst.op > Op::atomic_max) continue;
    const bool used = std::ranges::find(function.operands, id) != function.operands.end();
    const Scalar s = module.types[inst.type].scalar;
    const bool fits = !used && module.types.is_scalar(inst.type) &&
                      (s == Scalar::f32 || s == Scalar::i32 || s == Scalar::u32) &&
                      function[function.arg(inst, 0)].op == Op::param;
    bool uniform = true;
    for (std::uint32_t i = 1; i + 1 < inst.count; ++i)
      uniform = uniform && same_for_all_threads(function, function.arg(inst, i));
    if (fits && uniform) found.push_back(id);
  }
  // Nothing else may touch the arrays.
  for (const ValueId id : found) {
    const ValueId array = function.arg(function[id], 0);
    for (ValueId other = 0; other < function.insts.size(); ++other) {
      const Inst& inst = function[other];
      const bool reduces = std::ranges::find(found, other) != found.end();
      if (inst.count > 0 && !reduces &&
          std::ranges::find(function.args(inst), array) != function.args(inst).end())
        return {};
    }
  }
  return found;
}

void FunctionWriter::one_element() {
  constexpr std::string_view kAxes[] = {"x", "y", "z"};
  std::string outside;
  const std::size_t n = launch_names_.size();
  for (std::size_t d = 0; d < n; ++d) {
    const std::string_view axis = kAxes[n - 1 - d];  // the last coordinate changes fastest
    line("const int ", thread_names_[d], " = blockIdx.", axis, " * blockDim.", axis,
         " + threadIdx.", axis, ';');
    outside += (d > 0 ? " || " : "") + thread_names_[d] + " >= " + launch_names_[d];
  }
  open("if (", outside, ") {");
  line("return;");
  close();
  block(0);
}

// The kernel of split_element_function.
void FunctionWriter::vector_loops() {
  const std::string& i = thread_names_[0];
  const std::string& dim = launch_names_[0];
  const std::string first = scope_.unique("first");
  const std::string stride = scope_.unique("stride");
  const std::string group = scope_.unique("group");
  std::vector<ValueId> loads;
  const Inst* call = nullptr;
  const Inst* store = nullptr;
  for (const ValueId id : function_.blocks[0].insts) {
    const Inst& inst = function_[id];
    if (inst.op == Op::load) loads.push_back(id);
    if (inst.op == Op::call) call = &inst;
    if (inst.op == Op::store) store = &inst;
  }
  const std::string& function = program_.function_names[static_cast<int>(call->imm)];
  const auto vector_of = [&](ValueId value) {
    return vector_type(module_.types[function_[value].type].scalar);
  };
  for (const ValueId load : loads)
    names_[load] = scope_.unique(names_[function_.arg(function_[load], 0)] + "4");
  // The call for one element; `lane` is empty for a single one.
  const auto call_text = [&](const std::string& index, const std::string& lane) {
    std::string list;
    for (const ValueId operand : function_.args(*call)) {
      const Inst& inst = function_[operand];
      std::string text = names_[operand];
      if (inst.op == Op::tid) text = index;
      if (inst.op == Op::load)
        text = lane.empty() ? names_[function_.arg(inst, 0)] + "[" + index + "]" : text + lane;
      list += (list.empty() ? "" : ", ") + text;
    }
    return function + "(" + list + ")";
  };
  const std::string& out = names_[function_.arg(*store, 0)];
  const std::string out_type = vector_of(function_.arg(*store, 2));
  const std::string results = scope_.unique("results");
  line("const int ", first, " = blockIdx.x * blockDim.x + threadIdx.x;");
  line("const int ", stride, " = blockDim.x * gridDim.x;");
  open("for (int ", group, " = ", first, "; ", group, " < ", dim, " / 4; ", group, " += ", stride,
       ") {");
  for (const ValueId load : loads) {
    const std::string type = vector_of(load);
    line("const ", type, ' ', names_[load], " = reinterpret_cast<const ", type, "*>(",
         names_[function_.arg(function_[load], 0)], ")[", group, "];");
  }
  line(out_type, ' ', results, ';');
  constexpr std::string_view kLanes4[] = {".x", ".y", ".z", ".w"};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::string lane(kLanes4[k]);
    const std::string index = "4 * " + group + (k > 0 ? " + " + std::to_string(k) : "");
    line(results, lane, " = ", call_text(index, lane), ';');
  }
  line("reinterpret_cast<", out_type, "*>(", out, ")[", group, "] = ", results, ';');
  close();
  open("for (int ", i, " = ", dim, " / 4 * 4 + ", first, "; ", i, " < ", dim, "; ", i,
       " += ", stride, ") {");
  line(out, '[', i, "] = ", call_text(i, ""), ';');
  close();
}

void FunctionWriter::declare_partials() {
  for (const ValueId id : block_reductions(module_, function_)) {
    const Inst& inst = function_[id];
    const bool sum = inst.op == Op::atomic_add || inst.op == Op::atomic_sub;
    const std::string& type = program_.type(inst.type);
    partials_[id] = scope_.unique("partial");
    begin_line();
    write(type, ' ', partials_[id], " = ");
    if (sum) {
      put(program_.literal(inst.type, Inst{}));
    } else {  // a minimum or maximum starts from the element: that changes nothing
      element(inst, inst.count - 2);
    }
    put(';');
    end_line();
  }
}

void FunctionWriter::combine_partials() {
  for (const auto& [id, partial] : partials_) {
    const Inst& inst = function_[id];
    const std::string& type = program_.type(inst.type);
    const std::string shared = scope_.unique("block_" + partial);
    const std::string width = scope_.unique("width");
    line("__shared__ ", type, ' ', shared, '[', std::to_string(kReductionThreads), "];");
    line(shared, "[threadIdx.x] = ", partial, ';');
    line("__syncthreads();");
    open("for (unsigned int ", width, " = blockDim.x / 2; ", width, " > 0; ", width, " /= 2) {");
    open("if (threadIdx.x < ", width, ") {");
    combine(inst, shared + "[threadIdx.x]", shared + "[threadIdx.x + " + width + "]");
    close();
    line("__syncthreads();");
    close();
    open("if (threadIdx.x == 0) {");
    begin_line();
    write(atomic_call(inst.op == Op::atomic_sub ? Op::atomic_add : inst.op, inst.type), "(&");
    element(inst, inst.count - 2);
    write(", ", shared, "[0]);");
    end_line();
    close();
  }
}

// Adds a value to a partial result; the subtraction of a sum has happened before.
void FunctionWriter::combine(const Inst& inst, const std::string& place, const std::string& value) {
  if (inst.op == Op::atomic_add || inst.op == Op::atomic_sub)
    return line(place, " += ", value, ';');
  const bool least = inst.op == Op::atomic_min;
  const bool real = is_float(module_.types[inst.type].scalar);
  line(place, real ? " = f" : " = ", least ? "min" : "max", real ? "f(" : "(", place, ", ", value,
       ");");
}

}  // namespace emit_text
}  // namespace causeway::lang
