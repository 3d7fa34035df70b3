// Compiles and runs kernels for the Python test: prints every array after the launch as hex bytes.
// Usage: lang_driver run FILE...  |  lang_driver check FILE... (one line a file: ok or the error)
#include "causeway/lang/emit/emit.h"
#include "tests/lang/corpus.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace {

using namespace causeway::lang;

std::string read(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void run_file(const std::string& path) {
  const std::string text = read(path);
  const Module module = compile(path, text);
  for (const test::Run& run : test::parse_runs(path, text)) {
    const int kernel = module.find(run.kernel);
    if (kernel < 0)
      causeway::fail(causeway::ErrorKind::invalid_argument, "lang.driver",
                     "no kernel " + run.kernel);
    const Function& function = module.functions[static_cast<std::size_t>(kernel)];
    test::Buffers buffers = test::make_buffers(module, function, run);
    Interpreter(module, kernel).launch(run.dims, buffers.arguments);
    for (std::size_t i = 0; i < function.params.size(); ++i) {
      if (!module.types.is(function.params[i].type, TypeKind::array)) continue;
      std::printf("%s %.*s ", run.kernel.c_str(), static_cast<int>(function.params[i].name.size()),
                  function.params[i].name.data());
      for (const std::byte b : buffers.bytes[i]) std::printf("%02x", static_cast<unsigned>(b));
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int failed = 0;
  const std::string mode = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    try {
      if (mode == "run") run_file(argv[i]);
      if (mode == "check") {
        compile(argv[i], read(argv[i]));
        std::printf("%s ok\n", argv[i]);
      }
    } catch (const std::exception& error) {
      std::string text = error.what();
      if (mode == "check") text = text.substr(0, text.find('\n'));
      std::printf("%s error %s\n", argv[i], text.c_str());
      failed = mode == "run" ? 1 : failed;
    }
  }
  return failed;
}
