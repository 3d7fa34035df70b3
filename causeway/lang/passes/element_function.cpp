#include "causeway/lang/passes/element_function.h"

#include "causeway/lang/passes/clone.h"

#include <algorithm>

namespace causeway::lang {

namespace {

bool is_thread_index(const Function& function, ValueId id) { return function[id].op == Op::tid; }

// A load or store at the thread's index.
bool is_own_element(const Module& module, const Function& kernel, const Inst& inst) {
  const ValueId array = kernel.arg(inst, 0);
  const Type& type = module.types[kernel[array].type];
  return kernel[array].op == Op::param && type.ndim == 1 && module.types.is_scalar(type.element) &&
         size_of(module.types[type.element].scalar) == 4 &&
         is_thread_index(kernel, kernel.arg(inst, 1));
}

// Whether a value is used other than as the index of a load or store.
bool is_used_as_value(const Function& kernel, ValueId id) {
  for (const Block& block : kernel.blocks) {
    for (const ValueId user : block.insts) {
      const Inst& inst = kernel[user];
      const bool access = inst.op == Op::load || inst.op == Op::store;
      for (std::uint32_t i = 0; i < inst.count; ++i) {
        if (kernel.arg(inst, i) == id && !(access && i == 1)) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool is_elementwise(const Module& module, const Function& kernel) {
  if (kernel.dims != 1 || kernel.blocks[0].insts.empty()) return false;
  int n_loads = 0;
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    const std::vector<ValueId>& insts = kernel.blocks[b].insts;
    for (std::size_t i = 0; i < insts.size(); ++i) {
      const Inst& inst = kernel[insts[i]];
      if (inst.op == Op::load) {
        if (b != 0 || !is_own_element(module, kernel, inst)) return false;
        ++n_loads;
      } else if (inst.op == Op::store) {
        const bool last = b == 0 && i + 1 == insts.size();
        if (!last || !is_own_element(module, kernel, inst)) return false;
      } else if (inst.op == Op::shape || inst.op == Op::view || inst.op == Op::give ||
                 inst.op == Op::check || inst.op == Op::print ||
                 (inst.op >= Op::atomic_add && inst.op <= Op::block_max)) {
        return false;
      } else if (inst.op == Op::call &&
                 module.functions[static_cast<std::size_t>(inst.imm)].effects) {
        return false;
      }
      if (inst.op == Op::call) {
        for (const ValueId operand : kernel.args(inst)) {
          if (module.types.is(kernel[operand].type, TypeKind::array)) return false;
        }
      }
    }
  }
  return n_loads > 0 && kernel[kernel.blocks[0].insts.back()].op == Op::store;
}

int split_element_function(Module& module, int index) {
  const Function kernel = module.functions[static_cast<std::size_t>(index)];
  Function element;
  element.name = module.keep(std::string(kernel.name) + "_element");
  element.span = kernel.span;
  Function calls;
  calls.name = kernel.name;
  calls.kind = FunctionKind::kernel;
  calls.effects = true;
  calls.dims = 1;
  calls.span = kernel.span;
  element.blocks.resize(1);
  calls.blocks.resize(1);
  Builder inner(module, element);
  Builder outer(module, calls);
  for (const Param& param : kernel.params) outer.param(param);

  std::vector<ValueId> values(kernel.insts.size(), kAbsent);  // in the function of one element
  std::vector<ValueId> arguments;                             // of the call
  const auto pass = [&](ValueId id, std::string_view name, TypeId type, ValueId argument) {
    Param param;
    param.name = name;
    param.type = type;
    values[id] = inner.param(param);
    arguments.push_back(argument);
  };
  // An index that the body also computes with is passed on.
  const std::vector<ValueId>& body = kernel.blocks[0].insts;
  const ValueId thread = outer.emit(Op::tid, kI32, {}, 0);
  for (const ValueId id : body) {
    if (kernel[id].op == Op::tid) {
      calls[thread].name = kernel[id].name;
      if (is_used_as_value(kernel, id)) pass(id, kernel[id].name, kI32, thread);
    } else if (kernel[id].op == Op::load) {
      const ValueId array = kernel.arg(kernel[id], 0);
      pass(id, kernel.params[array].name, kernel[id].type,
           outer.emit(Op::load, kernel[id].type, {array, thread}));
    }
  }
  for (ValueId id = 0; id < kernel.params.size(); ++id) {
    if (!module.types.is(kernel.params[id].type, TypeKind::array) && is_used_as_value(kernel, id))
      pass(id, kernel.params[id].name, kernel.params[id].type, id);
  }
  Cloner cloner(kernel, inner, values);
  for (const ValueId id : body) {
    const Inst& inst = kernel[id];
    if (inst.op == Op::tid || inst.op == Op::load) continue;
    if (inst.op != Op::store) {
      cloner.inst(id);
      continue;
    }
    const ValueId result = values[kernel.arg(inst, 2)];
    element.result = element[result].type;
    inner.set_span(inst.span);
    inner.emit(Op::give, kNone, {result});
    const ValueId call = outer.emit(Op::call, element.result, arguments,
                                    static_cast<std::int64_t>(module.functions.size()));
    outer.emit(Op::store, kNone, {kernel.arg(inst, 0), thread, call});
  }
  module.functions.push_back(std::move(element));
  module.functions.push_back(std::move(calls));
  return static_cast<int>(module.functions.size()) - 1;
}

}  // namespace causeway::lang
