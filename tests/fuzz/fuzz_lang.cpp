// Fuzzes kernel text: any bytes are refused with a compile error or become IR that verifies, prints
// and reads back; its kernels and their adjoints emit, and run for a while, without a fault of
// ours.
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/interpret/interpreter.h"
#include "tests/fuzz/require.h"

#include <string>
#include <vector>

using namespace causeway::lang;

namespace {

// Arrays of two elements a dimension, zeros elsewhere.
void run(const Module& module, int kernel) {
  const Function& function = module.functions[static_cast<std::size_t>(kernel)];
  std::vector<std::vector<std::byte>> memory;
  std::vector<Argument> arguments;
  for (const Param& param : function.params) {
    const bool array = module.types.is(param.type, TypeKind::array);
    const TypeId element = array ? module.types[param.type].element : param.type;
    const std::size_t size = module.types.size_bytes(element);
    const int ndim = array ? module.types[param.type].ndim : 0;
    memory.emplace_back(size << ndim);
    Argument argument;
    argument.value = memory.back().data();
    const std::int64_t shape[] = {2, 2, 2, 2};
    if (array)
      argument.array =
          contiguous(memory.back().data(), std::span(shape, static_cast<std::size_t>(ndim)), size);
    arguments.push_back(argument);
  }
  InterpretOptions options;
  options.step_limit = 2000;
  const std::vector<std::int64_t> dims(static_cast<std::size_t>(function.dims), 2);
  try {
    Interpreter(module, kernel, options).launch(dims, arguments);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::invalid_argument);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Module module;
  try {
    module = compile("k.py", std::string(reinterpret_cast<const char*>(data), size));
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::compile);
    return 0;
  }
  const int n = static_cast<int>(module.functions.size());
  std::size_t n_insts = 0;
  for (const Function& function : module.functions) {
    FUZZ_REQUIRE(verify(module, function).empty());
    structural_hash(module, function);
    n_insts += function.insts.size();
  }
  if (n_insts > 3000) return 0;
  for (int i = 0; i < n; ++i) {
    if (module.functions[static_cast<std::size_t>(i)].kind != FunctionKind::kernel) continue;
    run(module, i);
    try {
      emit(module, i);
      const int adjoint = add_adjoint(module, i);
      FUZZ_REQUIRE(verify(module, module.functions[static_cast<std::size_t>(adjoint)]).empty());
      emit(module, adjoint);
      run(module, adjoint);
    } catch (const causeway::Error& error) {
      FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::compile);
    }
  }
  const std::string text = print_ir(module);
  FUZZ_REQUIRE(print_ir(read_ir("k.ir", text)) == text);
  return 0;
}
