// Kernels of the language: compile times, the disk cache, launch overhead, and memory bandwidth.
#include "bench/harness.h"
#include "causeway/jit/batch.h"
#include "causeway/jit/kernel.h"
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/pairs/backend.h"
#include "causeway/pairs/generate.h"
#include "causeway/runtime/threads.h"
#include "causeway/tensor/create.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

namespace causeway::bench {

namespace {

constexpr const char* kSaxpy = R"(
@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
    i = cw.tid()
    y[i] = a * x[i] + y[i]
)";

// Ten lines of vectors: more types, operators and helper functions than scalars need.
constexpr const char* kIntegrate = R"(
@cw.kernel
def integrate(x: cw.array(dtype=cw.vec3), v: cw.array(dtype=cw.vec3), f: cw.array(dtype=cw.vec3),
              w: cw.array(dtype=float), gravity: cw.vec3, dt: float):
    i = cw.tid()
    inv_mass = w[i]
    g = gravity * cw.where(inv_mass > 0.0, 1.0, 0.0)
    v1 = v[i] + (f[i] * inv_mass + g) * dt
    speed = cw.length(v1)
    if speed > 10.0:
        v1 = v1 * (10.0 / speed)
    x[i] = x[i] + v1 * dt
    v[i] = v1
)";

// A kernel of ten lines with a loop, a branch and function calls, of constants that no other kernel
// has: no cache knows it.
std::string fresh_text(int number) {
  static std::mt19937_64 random(std::random_device{}());
  const double scale = std::uniform_real_distribution<double>(0, 1)(random);
  return fmt::format(R"(
@cw.kernel
def k(x: cw.array(dtype=float), y: cw.array(dtype=float), n: int):
    i = cw.tid()
    s = float(0.0)
    for j in range(n):
        v = x[i] * {0:.9f} + float(j)
        if v > {1}.5:
            s += cw.sin(v)
        else:
            s -= v
    y[i] = cw.clamp(s, -1.0, 1.0)
)",
                     scale, number);
}

lang::Emitted fresh_kernel(int number) {
  lang::EmitOptions options;
  options.entry = fmt::format("k_{}", number);
  return jit::make_kernel("k.py", fresh_text(number), "k").emitted(options);
}

// Python text to the CUDA text of the kernel and of its adjoint.
void to_cuda(const std::string& text) {
  lang::Module module = lang::compile("k.py", text);
  const int kernel = static_cast<int>(module.functions.size()) - 1;
  lang::emit(module, kernel);
  lang::emit(module, lang::add_adjoint(module, kernel));
}

double milliseconds(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

Result per_kernel(const std::string& name, double ms, int count) {
  Result result;
  result.name = name;
  result.ms = result.ms_best = ms / count;
  return result;
}

// Kernels of pairs, compiled as `causeway pairs generate --verify gpu` does it.
void run_pairs(const Report& report) {
  constexpr int kKernels = 384;
  std::vector<lang::Emitted> kernels;
  for (int i = 0; i < kKernels; ++i) {
    const auto category = static_cast<pairs::Category>(i % pairs::kCategories);
    const int level = 1 + i / pairs::kCategories % pairs::kLevels;
    const pairs::Compiled compiled =
        pairs::compile_program(pairs::generate(category, level, static_cast<std::uint64_t>(i)));
    pairs::BackendTask task;
    task.compiled = &compiled;
    kernels.push_back(task.emit(lang::Dialect::cuda, fmt::format("kernel_{}", i)));
  }
  jit::CudaOptions options;
  options.fast_compile = true;
  options.call_math = true;
  for (const int count : {16, 96, 192}) {
    const double ms = milliseconds(
        [&] { jit::compile_batch(kernels, options, static_cast<std::size_t>(count)); });
    report(
        per_kernel(fmt::format("NVRTC of pairs, {} a program, per kernel", count), ms, kKernels));
  }
}

void run_compile(const Report& report) {
  if (!jit::nvrtc_status().version.empty()) {
    jit::compile_cuda({"first.cu", fresh_kernel(0).text});  // opens the library
    for (const int count : {1, 100}) {
      std::vector<lang::Emitted> kernels;
      for (int i = 0; i < count; ++i) kernels.push_back(fresh_kernel(i));
      for (const bool fast : {false, true}) {
        jit::CudaOptions options;
        options.fast_compile = fast;
        const double ms = milliseconds([&] { jit::compile_batch(kernels, options); });
        report(
            per_kernel(fmt::format("NVRTC{}, {} a program, per kernel", fast ? " fast" : "", count),
                       ms, count));
      }
    }
    run_pairs(report);
    const lang::Emitted known = fresh_kernel(0);
    const jit::CudaSource source{"k.cu", known.text};
    jit::compile_cuda(source);
    report(measure_host(
        "kernel from the disk cache", [&] { jit::compile_cuda(source); }, 1));
  }
  report(measure_host(
      "Python text to kernel", [] { jit::make_kernel("k.py", kSaxpy, ""); }, 1));
}

void run_to_cuda(const Report& report) {
  const std::string scalars = fresh_text(0);
  report(measure_host(
      "Python text to CUDA with adjoint, scalars", [&] { to_cuda(scalars); }, 20));
  report(measure_host(
      "Python text to CUDA with adjoint, vectors", [] { to_cuda(kIntegrate); }, 20));
  constexpr int kKernels = 10'000;
  std::vector<std::string> texts;
  for (int i = 0; i < kKernels; ++i) texts.push_back(fresh_text(i));
  const double ms = milliseconds([&] {
    parallel_for(kKernels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to_cuda(texts[static_cast<std::size_t>(i)]);
    });
  });
  report(per_kernel(
      fmt::format("distinct kernels to CUDA with adjoint, {} threads, per kernel", thread_count()),
      ms, kKernels));
}

}  // namespace

void run_jit(Device device, const Report& report) {
  run_compile(report);
  run_to_cuda(report);
  const jit::Kernel saxpy = jit::make_kernel("saxpy.py", kSaxpy, "saxpy");
  const Tensor small = ones({1024}, DType::f32, device);
  const Tensor other = ones({1024}, DType::f32, device);
  report(measure_host(
      "launch saxpy 1K",
      [&] {
        saxpy.launch({1024}, {2.0, small, other});
      },
      100));
  const std::int64_t n = 16 << 20;
  const Tensor x = ones({n}, DType::f32, device);
  const Tensor y = ones({n}, DType::f32, device);
  report(measure({"saxpy 16M", 12.0 * static_cast<double>(n), 0,
                  [&] {
                    saxpy.launch({n}, {2.0, x, y});
                  }},
                 device));
}

}  // namespace causeway::bench
