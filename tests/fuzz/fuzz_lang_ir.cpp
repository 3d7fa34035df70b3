// Fuzzes IR text: any bytes are refused with a compile error or become IR that verifies; what is
// accepted prints to text that reads back as the same, and emits.
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/ir/ir.h"
#include "tests/fuzz/require.h"

#include <string>

using namespace causeway::lang;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Module module;
  try {
    module = read_ir("k.ir", std::string(reinterpret_cast<const char*>(data), size));
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::compile);
    return 0;
  }
  const std::string text = print_ir(module);
  const Module again = read_ir("k.ir", text);
  FUZZ_REQUIRE(print_ir(again) == text);
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    FUZZ_REQUIRE(verify(module, module.functions[i]).empty());
    FUZZ_REQUIRE(structural_hash(module, module.functions[i]) ==
                 structural_hash(again, again.functions[i]));
    if (module.functions[i].kind != FunctionKind::kernel) continue;
    try {
      emit(module, static_cast<int>(i));
    } catch (const causeway::Error& error) {
      FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::compile);
    }
  }
  return 0;
}
