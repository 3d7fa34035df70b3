// The complete text: needs of functions, signatures, loops over threads.
#include "causeway/lang/emit/emit.h"

#include "causeway/core/error.h"
#include "causeway/lang/emit/writer.h"
#include "causeway/lang/passes/element_function.h"

#include <algorithm>
#include <unordered_map>

namespace causeway::lang {

Emitted emit(const Module& module, int kernel, const EmitOptions& options) {
  if (kernel < 0 || kernel >= static_cast<int>(module.functions.size()) ||
      module.functions[static_cast<std::size_t>(kernel)].kind != FunctionKind::kernel) {
    fail(ErrorKind::invalid_argument, "lang.emit", "there is no such kernel in the module");
  }
  if (options.form != LaunchForm::grid_stride &&
      (options.dialect != Dialect::cuda || !has_form(module, kernel, options.form))) {
    fail(ErrorKind::invalid_argument, "lang.emit", "the kernel does not have this form");
  }
  if (options.form == LaunchForm::vectorized) {
    Module split = module;
    const int calls = split_element_function(split, kernel);
    return emit_text::Program(split, options).run(calls);
  }
  return emit_text::Program(module, options).run(kernel);
}

namespace emit_text {

void Program::order(int function, std::vector<int>& out, std::vector<bool>& seen) const {
  const auto index = static_cast<std::size_t>(function);
  if (seen[index]) return;
  seen[index] = true;
  for (const Inst& inst : module.functions[index].insts) {
    if (inst.op == Op::call) order(static_cast<int>(inst.imm), out, seen);
  }
  out.push_back(function);
}

void Program::find_needs(int index) {
  const Function& function = module.functions[static_cast<std::size_t>(index)];
  auto& mine = needs[static_cast<std::size_t>(index)];
  mine.resize(function.params.size());
  const auto note = [&](ValueId array, const ArrayNeeds& need) {
    int shift = 0;
    ArrayNeeds total = need;
    while (function[array].op == Op::view) {
      const Inst& view = function[array];
      const int taken = static_cast<int>(view.count) - 1;
      shift += taken;
      total.data = true;
      array = function.arg(view, 0);
      const int ndim = module.types[function[array].type].ndim;
      total.shape = (need.shape << shift) | (options.strided ? 0U : ((1U << ndim) - 2U));
      if (options.strided) total.strides = (need.strides << shift) | ((1U << taken) - 1U);
    }
    if (function[array].op != Op::param) return;
    ArrayNeeds& target = mine[array];
    target.shape |= total.shape;
    target.strides |= total.strides;
    target.data = target.data || total.data;
    target.written = target.written || total.written;
  };
  for (const Inst& inst : function.insts) {
    if (inst.op == Op::push || inst.op == Op::pop)
      uses_tape[static_cast<std::size_t>(index)] = true;
    if (inst.op >= Op::block_sum && inst.op <= Op::block_max) uses_blocks = true;
    if (inst.op == Op::shape) note(function.arg(inst, 0), {1U << inst.imm, 0, false, false});
    if (inst.op == Op::call) {
      const auto callee = static_cast<std::size_t>(inst.imm);
      if (uses_tape[callee]) uses_tape[static_cast<std::size_t>(index)] = true;
      for (std::uint32_t i = 0; i < inst.count; ++i) {
        const ValueId operand = function.arg(inst, i);
        if (module.types.is(function[operand].type, TypeKind::array))
          note(operand, needs[callee][i]);
      }
    }
    const bool access = inst.op == Op::load || inst.op == Op::store || is_atomic(inst.op);
    if (!access) continue;
    const ValueId array = function.arg(inst, 0);
    const unsigned all = (1U << module.types[function[array].type].ndim) - 1U;
    note(array,
         {options.strided ? 0U : all & ~1U, options.strided ? all : 0U, true, inst.op != Op::load});
  }
}

// Overloads share a name: they differ in the types of their parameters.
void Program::name_functions(const std::vector<int>& functions) {
  function_names.resize(module.functions.size());
  std::unordered_map<std::string_view, std::size_t> overloads;
  for (const int at : functions) {
    const auto index = static_cast<std::size_t>(at);
    const Function& function = module.functions[index];
    if (function.kind == FunctionKind::kernel) {
      function_names[index] = options.entry.empty() ? globals.unique(function.name) : options.entry;
      globals.reserve(function_names[index]);
      continue;
    }
    const auto [first, is_new] = overloads.emplace(function.name, index);
    function_names[index] = !is_new ? function_names[first->second]
                            : function.helper && is_reserved(function.name)
                                ? std::string(function.name) + "_of"
                                : globals.unique(function.name);
  }
}

Emitted Program::run(int kernel) {
  needs.resize(module.functions.size());
  uses_tape.resize(module.functions.size());
  std::vector<int> functions;
  std::vector<bool> seen(module.functions.size());
  order(kernel, functions, seen);
  for (const int index : functions) find_needs(index);
  name_functions(functions);
  Emitted result;
  thread_local std::string body;  // its memory is used again
  body.clear();
  definitions_.reserve(1024);
  int n_lines = 0;
  for (const int at : functions) {
    const auto index = static_cast<std::size_t>(at);
    const Function& function = module.functions[index];
    const std::size_t begin = body.size();
    FunctionWriter writer(*this, at, body);
    if (function.kind == FunctionKind::kernel) {
      writer.write_kernel(function_names[index]);
      result.params = std::move(writer.params);
      result.entry = function_names[index];
      result.kernel_begin = begin + definitions_.size();
    } else {
      writer.write_function(function_names[index]);
    }
    // Helpers of a function precede it.
    body.insert(begin, definitions_);
    n_lines += static_cast<int>(std::count(definitions_.begin(), definitions_.end(), '\n'));
    definitions_.clear();
    for (const LineEntry& entry : writer.lines)
      result.lines.push_back({entry.line + n_lines, entry.span});
    n_lines += writer.n_lines();
  }
  const std::string head = includes_and_tape(uses_tape[static_cast<std::size_t>(kernel)]);
  const int shift = static_cast<int>(std::count(head.begin(), head.end(), '\n'));
  for (LineEntry& entry : result.lines) entry.line += shift;
  result.text.reserve(head.size() + body.size());
  result.text.append(head).append(body);
  result.kernel_begin += head.size();
  result.uses_half = uses_half;
  return result;
}

std::string Program::includes_and_tape(bool tape) const {
  std::string head;
  if (!cuda()) head += "#include <cmath>\n";
  if (uses_printf && !cuda()) head += "#include <cstdio>\n";
  if (uses_assert && !cuda()) head += "#include <cassert>\n";
  if (uses_half && cuda()) head += "#include <cuda_fp16.h>\n";
  if (!head.empty()) head += "\n";
  if (uses_half && !cuda()) head += "using half = _Float16;\n\n";
  if (tape) {
    const std::string inline_ = cuda() ? "__device__ inline " : "static inline ";
    head += "struct Tape {\n  unsigned int* words;\n  int top;\n  int capacity;\n};\n\n";
    head += "template <class T>\n" + inline_ +
            "void push(Tape& tape, const T& x) {\n  const unsigned char* from = (const unsigned "
            "char*)&x;\n"
            "  for (unsigned int at = 0; at < sizeof(T); at += 4, ++tape.top) {\n    unsigned int "
            "word = 0;\n"
            "    for (unsigned int i = 0; i < 4 && at + i < sizeof(T); ++i) word |= (unsigned "
            "int)from[at + i] << 8 * i;\n"
            "    if (tape.top < tape.capacity) tape.words[tape.top] = word;\n  }\n}\n\n";
    head += "template <class T>\n" + inline_ +
            "void pop(Tape& tape, T& x) {\n  unsigned char* to = (unsigned char*)&x;\n  tape.top "
            "-= (sizeof(T) + 3) / 4;\n"
            "  for (unsigned int at = 0; at < sizeof(T); at += 4) {\n    const unsigned int word = "
            "tape.words[tape.top + at / 4];\n"
            "    for (unsigned int i = 0; i < 4 && at + i < sizeof(T); ++i) to[at + i] = (unsigned "
            "char)(word >> 8 * i);\n  }\n}\n\n";
  }
  return head;
}

void FunctionWriter::add_param(EmittedKind kind, std::uint32_t param, int dim,
                               const std::string& name, std::string type, std::string& out,
                               bool restricted) {
  if (!out.empty()) out += ", ";
  out += type;
  out += restricted ? " __restrict__ " : " ";
  out += name;
  if (function_.kind == FunctionKind::kernel)
    params.push_back({kind, param, dim, name, std::move(type)});
}

std::string FunctionWriter::signature(bool kernel) {
  std::string out;
  const auto& needs = program_.needs[static_cast<std::size_t>(index_)];
  for (std::uint32_t i = 0; i < function_.params.size(); ++i) {
    const Param& param = function_.params[i];
    names_[i] = scope_.unique(param.name);
    const std::string& name = names_[i];
    if (!module_.types.is(param.type, TypeKind::array)) {
      add_param(EmittedKind::value, i, 0, name, program_.type(param.type), out);
      continue;
    }
    const ArrayNeeds& need = needs[i];
    const std::string element = program_.type(module_.types[param.type].element);
    if (need.data) {
      const bool constant = !need.written;
      add_param(EmittedKind::pointer, i, 0, name, (constant ? "const " : "") + element + "*", out,
                constant && kernel && program_.options.restrict_pointers);
    }
    const auto add_sizes = [&](EmittedKind kind, unsigned wanted) {
      for (int d = 0; wanted >> d != 0; ++d) {
        if ((wanted >> d & 1) == 0) continue;
        const std::string size = kind == EmittedKind::shape ? shape_name(i, d) : stride_name(i, d);
        add_param(kind, i, d, size, "int", out);
        scope_.reserve(size);
      }
    };
    add_sizes(EmittedKind::shape, need.shape);
    add_sizes(EmittedKind::stride, need.strides);
  }
  return out;
}

void FunctionWriter::write_function(const std::string& name) {
  std::string list = signature(false);
  if (program_.uses_tape[static_cast<std::size_t>(index_)])
    list += (list.empty() ? "" : ", ") + std::string("Tape& tape");
  const std::string called =
      function_.symbol.empty() ? name : "operator" + std::string(function_.symbol);
  open(program_.qualifier(), program_.type(function_.result), ' ', called, '(', list, ") {");
  block(0);
  const auto& insts = function_.blocks[0].insts;
  const bool ends = !insts.empty() && function_[insts.back()].op == Op::give;
  if (!ends && function_.result != kNone) line("return {};");
  close();
  line("");
}

void FunctionWriter::name_threads() {
  static constexpr std::string_view kDefaults[] = {"i", "j", "k", "l"};
  static constexpr std::string_view kSuffixes[] = {"x", "y", "z", "w"};
  thread_names_.resize(static_cast<std::size_t>(function_.dims));
  for (const Inst& inst : function_.insts) {
    if (inst.op == Op::tid && !inst.name.empty() &&
        thread_names_[static_cast<std::size_t>(inst.imm)].empty()) {
      thread_names_[static_cast<std::size_t>(inst.imm)] = scope_.unique(inst.name);
    }
  }
  for (std::size_t d = 0; d < thread_names_.size(); ++d) {
    if (thread_names_[d].empty()) thread_names_[d] = scope_.unique(kDefaults[d]);
    const std::string wanted = function_.dims == 1 ? "dim" : "dim_" + std::string(kSuffixes[d]);
    launch_names_.push_back(scope_.unique(wanted));
  }
  if (ranges()) {
    range_begin_ = scope_.unique("begin");
    range_end_ = scope_.unique("end");
  }
}

void FunctionWriter::write_kernel(const std::string& name) {
  std::string list = signature(true);
  name_threads();
  const bool tape = program_.uses_tape[static_cast<std::size_t>(index_)];
  const LaunchForm form = program_.options.form;
  const bool split = form != LaunchForm::one_element && returns_inside_loop(function_);
  std::string thread_call;
  if (split) {
    std::string thread_list = list;
    for (const EmittedParam& argument : params)
      thread_call += (thread_call.empty() ? "" : ", ") + argument.name;
    for (const std::string& thread : thread_names_) {
      thread_list += (thread_list.empty() ? "" : ", ") + ("int " + thread);
      thread_call += (thread_call.empty() ? "" : ", ") + thread;
    }
    if (tape) {
      thread_list += ", Tape& tape, int* tape_needed";
      thread_call += ", tape, tape_needed";
    }
    open(program_.qualifier(), "void ", name, "_thread(", thread_list, ") {");
    block(0);
    close();
    line("");
  }
  for (std::size_t d = 0; d < launch_names_.size(); ++d) {
    add_param(EmittedKind::launch_dim, 0, static_cast<int>(d), launch_names_[d], "int", list);
  }
  if (ranges()) {
    for (const std::string* bound : {&range_begin_, &range_end_}) {
      add_param(bound == &range_begin_ ? EmittedKind::range_begin : EmittedKind::range_end, 0, 0,
                *bound, "int", list);
    }
  }
  if (tape) {
    add_param(EmittedKind::tape, 0, 0, "tape_words", "unsigned int*", list);
    add_param(EmittedKind::tape_capacity, 0, 0, "tape_capacity", "int", list);
    add_param(EmittedKind::tape_needed, 0, 0, "tape_needed", "int*", list);
  }
  open(program_.cuda() ? "extern \"C\" __global__ void " : "extern \"C\" void ", name, '(', list,
       ") {");
  if (form == LaunchForm::one_element || form == LaunchForm::vectorized) {
    form == LaunchForm::one_element ? one_element() : vector_loops();
    return close();
  }
  if (form == LaunchForm::block_reduction) declare_partials();
  in_kernel_loop_ = !split;
  if (program_.cuda()) {
    cuda_loop();
  } else {
    cpp_loop();
  }
  if (tape)
    line(program_.cuda() ? "Tape tape{tape_words + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) "
                           "* tape_capacity, 0, tape_capacity};"
                         : "Tape tape{tape_words, 0, tape_capacity};");
  if (split) {
    line(name, "_thread(", thread_call, ");");
  } else {
    block(0);
  }
  const std::size_t n_loops = program_.cuda() ? 1 : launch_names_.size();
  for (std::size_t i = 0; i < n_loops; ++i) close();
  combine_partials();
  close();
}

void FunctionWriter::cuda_loop() {
  if (launch_names_.size() == 1) {
    const std::string& i = thread_names_[0];
    open("for (int ", i, " = blockIdx.x * blockDim.x + threadIdx.x; ", i, " < ", launch_names_[0],
         "; ", i, " += blockDim.x * gridDim.x) {");
    return;
  }
  const std::string index = scope_.unique("thread");
  std::string total = "(long long)" + launch_names_[0];
  for (std::size_t d = 1; d < launch_names_.size(); ++d) total += " * " + launch_names_[d];
  open("for (long long ", index, " = blockIdx.x * (long long)blockDim.x + threadIdx.x; ", index,
       " < ", total, "; ", index, " += (long long)blockDim.x * gridDim.x) {");
  std::string rest = index;
  std::vector<std::string> declarations;
  for (std::size_t d = launch_names_.size(); d-- > 0;) {
    std::string divisor;
    for (std::size_t k = d + 1; k < launch_names_.size(); ++k)
      divisor += (divisor.empty() ? "" : " * ") + std::string(k == d + 1 ? "(long long)" : "") +
                 launch_names_[k];
    std::string value = index;
    if (!divisor.empty())
      value += " / " + (d + 2 < launch_names_.size() ? "(" + divisor + ")" : launch_names_[d + 1]);
    if (d > 0) value += " % " + launch_names_[d];
    declarations.insert(declarations.begin(),
                        "const int " + thread_names_[d] + " = (int)(" + value + ");");
  }
  for (const std::string& declaration : declarations) line(declaration);
}

void FunctionWriter::cpp_loop() {
  for (std::size_t d = 0; d < launch_names_.size(); ++d) {
    const std::string& i = thread_names_[d];
    const bool part = d == 0 && ranges();
    open("for (int ", i, " = ", part ? range_begin_ : "0", "; ", i, " < ",
         part ? range_end_ : launch_names_[d], "; ++", i, ") {");
  }
}

}  // namespace emit_text
}  // namespace causeway::lang
