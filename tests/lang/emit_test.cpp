// Emitted text: what it looks like, that compilers take it, and that it computes what the
// interpreter computes.
#include "causeway/lang/emit/emit.h"

#include "causeway/lang/adjoint/adjoint.h"
#include "tests/files.h"
#include "tests/lang/corpus.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace {

using namespace causeway::lang;
using causeway::lang::test::Buffers;
using causeway::lang::test::CorpusFile;

const std::vector<CorpusFile>& corpus() {
  static const auto* const files = new std::vector<CorpusFile>(
      causeway::lang::test::read_corpus(causeway::test::test_folder() / "lang/corpus"));
  return *files;
}

std::string without_includes(const std::string& text, std::string& includes) {
  std::string rest;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("#include")) {
      if (includes.find(line) == std::string::npos) includes += line;
    } else {
      rest += line;
    }
    at = end;
  }
  return rest;
}

// One kernel of the corpus, forward or adjoint, with its wrapper that takes an array of pointers.
struct Compiled {
  Module module;
  int function = -1;
  Emitted emitted;
  test::Run run;
  std::string file;
};

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lang-emit-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string emit_all(std::vector<Compiled>& kernels, Dialect dialect) {
  std::string includes;
  std::string text;
  int number = 0;
  for (const CorpusFile& file : corpus()) {
    for (const auto& run : file.runs) {
      if (dialect == Dialect::cpp && !run.cpp) continue;
      for (const bool adjoint : {false, true}) {
        if (adjoint && !run.gradients) continue;
        Compiled made;
        made.module = compile(file.name, file.text);
        made.function = made.module.find(run.kernel);
        if (adjoint) made.function = add_adjoint(made.module, made.function);
        EmitOptions options;
        options.dialect = dialect;
        options.entry = "kernel_" + std::to_string(number);
        made.emitted = emit(made.module, made.function, options);
        made.run = run;
        made.file = file.name;
        text += "namespace n" + std::to_string(number) + " {\n" +
                without_includes(made.emitted.text, includes);
        if (dialect == Dialect::cpp) {
          text += "extern \"C\" void call_" + std::to_string(number) + "(void** a) { " +
                  made.emitted.entry + "(";
          for (std::size_t i = 0; i < made.emitted.params.size(); ++i) {
            const EmittedParam& param = made.emitted.params[i];
            const bool pointer = param.type.ends_with("*");
            text += (i > 0 ? ", " : "") +
                    std::string(pointer ? "(" + param.type + ")a[" : "*(" + param.type + "*)a[") +
                    std::to_string(i) + "]";
          }
          text += "); }\n";
        }
        text += "}\n";
        kernels.push_back(std::move(made));
        ++number;
      }
    }
  }
  // Names that every namespace defines for itself, such as half.
  return includes + text;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    worst = std::max(worst, std::fabs(a[i] - b[i]) / std::max(std::fabs(a[i]), 1e-30));
  }
  return worst;
}

// All kernels compiled into one library; results must have the interpreter's bits, since both use
// the same mathematical library and the compiler may not contract.
TEST(LangEmit, CppComputesWhatTheInterpreterComputes) {
  std::vector<Compiled> kernels;
  const std::string text = emit_all(kernels, Dialect::cpp);
  const Folder folder;
  std::ofstream(folder / "kernels.cpp") << text;
#if defined(__aarch64__)
  const std::string half = "-D_Float16=__fp16 ";  // for GCC before version 13
#else
  const std::string half;
#endif
  const std::string command =
      "c++ -std=c++17 -O1 -w -fwrapv -ffp-contract=off -fno-builtin -shared -fPIC " + half + "-o " +
      (folder / "kernels.so").string() + " " + (folder / "kernels.cpp").string() + " 2> " +
      (folder / "log").string();
  ASSERT_EQ(std::system(command.c_str()), 0) << [&] {
    std::ifstream log(folder / "log");
    std::string content((std::istreambuf_iterator<char>(log)), {});
    return content.substr(0, 4000);
  }();
  void* library = dlopen((folder / "kernels.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  int n_exact = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    Compiled& kernel = kernels[k];
    const Function& function = kernel.module.functions[static_cast<std::size_t>(kernel.function)];
    Buffers ours = test::make_buffers(kernel.module, function, kernel.run);
    for (std::size_t i = ours.bytes.size(); i < function.params.size(); ++i) {  // gradients: ones
      std::size_t source = 0;
      while (kernel.module.keep("adj_" + std::string(function.params[source].name)) !=
             function.params[i].name)
        ++source;
      const bool is_array = !ours.shapes[source].empty();
      const std::size_t n_floats = ours.bytes[source].size();
      ours.shapes.push_back(is_array ? ours.shapes[source] : std::vector<std::int64_t>{1});
      std::vector<std::byte> bytes(n_floats);
      const Scalar scalar = kernel.module.types[function.params[i].type].scalar;
      for (std::size_t at = 0; at + size_of(scalar) <= n_floats; at += size_of(scalar)) {
        const float one = 1;
        const double one_double = 1;
        const std::uint16_t one_half = 0x3c00;
        std::memcpy(bytes.data() + at,
                    scalar == Scalar::f64   ? static_cast<const void*>(&one_double)
                    : scalar == Scalar::f16 ? static_cast<const void*>(&one_half)
                                            : &one,
                    size_of(scalar));
      }
      ours.bytes.push_back(std::move(bytes));
    }
    Buffers theirs = ours;
    ours.bind(kernel.module, function);
    InterpretOptions options;
    Interpreter(kernel.module, kernel.function, options).launch(kernel.run.dims, ours.arguments);
    std::vector<void*> arguments;
    std::vector<int> numbers(kernel.emitted.params.size());
    std::vector<unsigned> tape(4096);
    int tape_needed = 0;
    for (std::size_t i = 0; i < kernel.emitted.params.size(); ++i) {
      const EmittedParam& param = kernel.emitted.params[i];
      const auto dim = static_cast<std::size_t>(param.dim);
      switch (param.kind) {
        case EmittedKind::shape:
          numbers[i] = static_cast<int>(theirs.shapes[param.param][dim]);
          break;
        case EmittedKind::launch_dim: numbers[i] = static_cast<int>(kernel.run.dims[dim]); break;
        case EmittedKind::tape_capacity: numbers[i] = static_cast<int>(tape.size()); break;
        default: break;
      }
      const bool value = param.kind == EmittedKind::value || param.kind == EmittedKind::pointer;
      arguments.push_back(value ? static_cast<void*>(theirs.bytes[param.param].data())
                          : param.kind == EmittedKind::tape ? static_cast<void*>(tape.data())
                          : param.kind == EmittedKind::tape_needed
                              ? static_cast<void*>(&tape_needed)
                              : static_cast<void*>(&numbers[i]));
    }
    const auto call =
        reinterpret_cast<void (*)(void**)>(dlsym(library, ("call_" + std::to_string(k)).c_str()));
    ASSERT_NE(call, nullptr);
    call(arguments.data());
    EXPECT_EQ(tape_needed, 0);
    double worst = 0;
    for (std::size_t i = 0; i < function.params.size(); ++i) {
      const TypeId type = function.params[i].type;
      worst = std::max(worst, distance(test::as_doubles(kernel.module, type, ours.bytes[i]),
                                       test::as_doubles(kernel.module, type, theirs.bytes[i])));
    }
    n_exact += worst == 0;
    // Sums by several atomics a thread may come in another order.
    EXPECT_LE(worst,
              function.params.size() > ours.bytes.size() / 2 && function.name.starts_with("adj_")
                  ? 2e-5
                  : 0.0)
        << kernel.file << " " << function.name;
  }
  dlclose(library);
  std::printf("%zu kernels as C++: %d with the interpreter's bits\n", kernels.size(), n_exact);
  EXPECT_GT(n_exact, static_cast<int>(kernels.size() * 9 / 10));
}

// NVRTC's few functions, opened at run time.
struct Nvrtc {
  void* library = dlopen("libnvrtc.so.13", RTLD_NOW);
  int (*create)(void**, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  Nvrtc() {
    for (const char* name : {"libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    }
    if (library == nullptr) return;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    load(create, "nvrtcCreateProgram");
    load(compile, "nvrtcCompileProgram");
    load(log_size, "nvrtcGetProgramLogSize");
    load(log, "nvrtcGetProgramLog");
    load(destroy, "nvrtcDestroyProgram");
  }
};

TEST(LangEmit, CudaCompilesForEveryArchitecture) {
  const Nvrtc nvrtc;
  if (nvrtc.library == nullptr) GTEST_SKIP() << "NVRTC was not found";
  std::vector<Compiled> kernels;
  const std::string text = emit_all(kernels, Dialect::cuda);
  const auto build = [&](const char* architecture) {
    void* program = nullptr;
    ASSERT_EQ(nvrtc.create(&program, text.c_str(), "corpus.cu", 0, nullptr, nullptr), 0);
    const std::string option = std::string("--gpu-architecture=") + architecture;
    const char* options[] = {option.c_str(), "--std=c++17", "--fmad=false", "--Ofast-compile=max",
                             "--include-path=/usr/local/cuda/include"};
    const int status = nvrtc.compile(program, 5, options);
    std::size_t size = 0;
    nvrtc.log_size(program, &size);
    std::string log(size, ' ');
    nvrtc.log(program, log.data());
    EXPECT_EQ(status, 0) << architecture << "\n" << log.substr(0, 4000);
    nvrtc.destroy(&program);
  };
  std::thread other([&] {
    build("sm_75");
    build("sm_80");
  });
  build("sm_90");
  build("sm_100");
  other.join();
  std::printf("%zu kernels compiled by NVRTC\n", kernels.size());
}

}  // namespace
