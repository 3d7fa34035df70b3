// Tensor operations: memory-bound ones by bytes, matrix products by FLOPs, and cached allocation.
// The CPU uses a tenth of the GPU's sizes.
#include "bench/harness.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"

#include <fmt/format.h>

namespace causeway::bench {

namespace {

void run_elementwise(Device device, const Report& report) {
  const std::int64_t n = device.is_cuda() ? 100'000'000 : 10'000'000;
  const std::string size = device.is_cuda() ? "100M" : "10M";
  Generator generator(1);
  const Tensor a = generator.normal({n}, 0, 1, DType::f32, device);
  const Tensor b = generator.normal({n}, 0, 1, DType::f32, device);
  const double one = static_cast<double>(n) * 4;
  const auto time = [&](const char* name, double bytes, std::function<void()> run) {
    report(measure({fmt::format("{} f32 {}", name, size), bytes, 0, std::move(run)}, device));
  };
  const Tensor few = generator.normal({1000}, 0, 1, DType::f32, device);
  report(measure({"add f32 1K", 0, 0, [&] { (void)(few + few); }}, device));
  time("copy", 2 * one, [&] { (void)a.clone(); });
  time("fill", one, [&] { (void)zeros({n}, DType::f32, device); });
  time("add", 3 * one, [&] { (void)(a + b); });
  time("multiply by 2", 2 * one, [&] { (void)(a * 2.0); });
  time("relu", 2 * one, [&] { (void)relu(a); });
  time("gelu", 2 * one, [&] { (void)gelu(a); });
  time("exp", 2 * one, [&] { (void)exp(a); });
  time("tanh", 2 * one, [&] { (void)tanh(a); });
  time("sin", 2 * one, [&] { (void)unary(UnaryOp::sin, a); });
  time("less", 2.25 * one, [&] { (void)compare(CompareOp::less, a, b); });
  time("to bf16", 1.5 * one, [&] { (void)a.to(DType::bf16); });
  time("sum", one, [&] { (void)sum(a); });
  time("max", one, [&] { (void)max(a); });
  time("argmax", one, [&] { (void)argmax(a); });
  time("variance", one, [&] { (void)variance(a); });
  time("cumulative sum", 2 * one, [&] { (void)cumulative_sum(a, 0); });
  time("normal", one, [&] { (void)generator.normal({n}, 0, 1, DType::f32, device); });
  time("uniform", one, [&] { (void)generator.uniform({n}, 0, 1, DType::f32, device); });
}

void run_matrices(Device device, const Report& report) {
  const std::int64_t rows = device.is_cuda() ? 16384 : 4096;
  const std::int64_t columns = device.is_cuda() ? 4096 : 2048;
  const std::string shape = fmt::format("{}x{}", rows, columns);
  Generator generator(2);
  const Tensor x = generator.normal({rows, columns}, 0, 1, DType::f32, device);
  const Tensor row = generator.normal({columns}, 0, 1, DType::f32, device);
  const double one = static_cast<double>(rows * columns) * 4;
  const auto time = [&](const char* name, double bytes, std::function<void()> run) {
    report(measure({fmt::format("{} f32 {}", name, shape), bytes, 0, std::move(run)}, device));
  };
  time("sum over rows", one, [&] { (void)sum(x, {1}); });
  time("sum over columns", one, [&] { (void)sum(x, {0}); });
  time("transpose", 2 * one, [&] { (void)x.transpose().contiguous(); });
  time("add row", 2 * one, [&] { (void)(x + row); });
  if (device.is_cuda()) {  // the gradient of a bias
    const Tensor tall = generator.normal({262144, 576}, 0, 1, DType::bf16, device);
    report(measure({"sum over columns bf16 262144x576", static_cast<double>(tall.n_bytes()), 0,
                    [&] { (void)sum(tall, {0}); }},
                   device));
  }
  const std::int64_t n = device.is_cuda() ? 10'000'000 : 1'000'000;
  const Tensor keys = generator.normal({n}, 0, 1, DType::f32, device);
  report(measure({fmt::format("sort f32 {}M", n / 1'000'000), 0, 0, [&] { (void)sort(keys); }},
                 device));
  const Tensor index = generator.integers({rows}, 0, rows, DType::i64, device);
  time("index select", 2 * one, [&] { (void)index_select(x, 0, index); });
}

void run_products(Device device, const Report& report) {
  Generator generator(3);
  const auto time = [&](const char* type, DType dtype, std::int64_t n, bool tf32) {
    const Tensor a = generator.normal({n, n}, 0, 1, dtype, device);
    const Tensor b = generator.normal({n, n}, 0, 1, dtype, device);
    set_allow_tf32(tf32);
    const double flops =
        2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    report(measure({fmt::format("matmul {} {}", type, n), 0, flops, [&] { (void)matmul(a, b); }},
                   device));
    set_allow_tf32(false);
  };
  for (std::int64_t n : {128, 256, 512, 1024, 2048}) time("f32", DType::f32, n, false);
  if (device.is_cpu()) return;
  time("f32", DType::f32, 4096, false);
  for (std::int64_t n : {128, 256, 512, 1024, 2048, 4096}) time("tf32", DType::f32, n, true);
  time("bf16", DType::bf16, 4096, false);
  time("bf16", DType::bf16, 8192, false);
  time("f16", DType::f16, 8192, false);
}

void run_memory(Device device, const Report& report) {
  const StreamView stream = current_stream(device);
  Pool& pool = pool_of(device);
  for (std::size_t bytes : {std::size_t{4} << 10, std::size_t{64} << 20}) {
    report(measure_host(
        fmt::format("allocate and free {}", bytes < (1 << 20) ? "4 KiB" : "64 MiB"),
        [&] { (void)pool.allocate(bytes, stream); }, 10000));
  }
  if (device.is_cpu()) return;
  const Tensor host = Generator(4).uniform({std::int64_t{64} << 20});
  const Tensor moved = host.to(device);
  const double bytes = static_cast<double>(host.n_bytes());
  report(measure({"upload 256 MiB", bytes, 0, [&] { (void)host.to(device); }}, device));
  report(measure({"download 256 MiB", bytes, 0, [&] { (void)moved.to(Device::cpu()); }}, device));
}

}  // namespace

void run_ops(Device device, const Report& report) {
  run_elementwise(device, report);
  run_matrices(device, report);
  run_products(device, report);
  run_memory(device, report);
  pool_of(device).release_cached();
}

}  // namespace causeway::bench
