// Memory-bound kernels of networks: softmax, norms, losses, dropout and embeddings. bf16 and sizes
// of real models on a GPU, f32 and small sizes on the CPU.
#include "bench/harness.h"
#include "causeway/kernels/cross_entropy/cross_entropy.h"
#include "causeway/kernels/dropout/dropout.h"
#include "causeway/kernels/embedding/embedding.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::bench {

namespace {

using kernels::NormOp;
using kernels::Operand;
using kernels::SoftmaxOp;

// The device of the cases, and the report.
struct Bench {
  Device device;
  const Report& report;
  StreamView stream;

  Operand of(const Tensor& tensor) const { return operand(tensor, stream); }
  void time(const std::string& name, double bytes, std::function<void()> run) const {
    report(measure({name, bytes, 0, std::move(run)}, device));
  }
};

double bytes_of(const Tensor& tensor) { return static_cast<double>(tensor.n_bytes()); }

void run_softmax(const Bench& bench, std::int64_t rows, std::int64_t columns, DType dtype) {
  Generator generator(1);
  const Tensor x = generator.normal({rows, columns}, 0, 1, dtype, bench.device);
  const Tensor gradient = generator.normal({rows, columns}, 0, 1, dtype, bench.device);
  const Tensor y = Tensor::empty({rows, columns}, dtype, bench.device);
  const Tensor result = Tensor::empty({rows, columns}, dtype, bench.device);
  const auto shape = fmt::format("{} {}x{}", to_string(dtype), rows, columns);
  bench.time("softmax " + shape, 2 * bytes_of(x), [&] {
    kernels::softmax(bench.stream, SoftmaxOp::softmax, bench.of(x), bench.of(y), rows, columns);
  });
  bench.time("softmax backward " + shape, 3 * bytes_of(x), [&] {
    kernels::softmax_gradient(bench.stream, SoftmaxOp::softmax, bench.of(y), bench.of(gradient),
                              bench.of(result), rows, columns);
  });
}

void run_norm(const Bench& bench, NormOp op, std::int64_t rows, std::int64_t columns, DType dtype) {
  Generator generator(2);
  const auto draw = [&](const Shape& shape) {
    return generator.normal(shape, 0, 1, dtype, bench.device);
  };
  const Tensor x = draw({rows, columns}), residual = draw({rows, columns});
  const Tensor weight = draw({columns}), bias = draw({columns});
  const Tensor out = Tensor::empty(x.shape(), dtype, bench.device);
  const Tensor sum = Tensor::empty(x.shape(), dtype, bench.device);
  const Tensor mean = Tensor::empty({rows}, DType::f32, bench.device);
  const Tensor rstd = Tensor::empty({rows}, DType::f32, bench.device);
  const Tensor weight_gradient = Tensor::empty({columns}, dtype, bench.device);
  const Tensor bias_gradient = Tensor::empty({columns}, dtype, bench.device);
  const kernels::Norm how = {op, rows, columns, 1e-5};
  const bool layer = op == NormOp::layer;
  const auto maybe = [&](const Tensor& tensor) { return layer ? bench.of(tensor) : Operand{}; };
  const auto name = fmt::format("{} norm", to_string(op));
  const auto shape = fmt::format(" {} {}x{}", to_string(dtype), rows, columns);
  bench.time(name + shape, 2 * bytes_of(x), [&] {
    kernels::norm(bench.stream, how, bench.of(x), {}, bench.of(weight), maybe(bias), {},
                  bench.of(out), maybe(mean), bench.of(rstd));
  });
  bench.time(name + " backward" + shape, 3 * bytes_of(x), [&] {
    kernels::norm_gradient(bench.stream, how, bench.of(x), bench.of(weight), maybe(mean),
                           bench.of(rstd), bench.of(residual), {}, bench.of(out),
                           bench.of(weight_gradient), maybe(bias_gradient));
  });
  bench.time("add and " + name + shape, 4 * bytes_of(x), [&] {
    kernels::norm(bench.stream, how, bench.of(x), bench.of(residual), bench.of(weight), maybe(bias),
                  bench.of(sum), bench.of(out), maybe(mean), bench.of(rstd));
  });
}

void run_batch_norm(const Bench& bench, kernels::Cube cube, DType dtype) {
  Generator generator(3);
  const Shape shape = {cube.outer, cube.axis, cube.inner};
  const auto channels = [&](double value, DType type) {
    return full({cube.axis}, value, type, bench.device);
  };
  const Tensor x = generator.normal(shape, 0, 1, dtype, bench.device);
  const Tensor gradient = generator.normal(shape, 0, 1, dtype, bench.device);
  const Tensor out = Tensor::empty(shape, dtype, bench.device);
  const Tensor weight = channels(1, dtype), bias = channels(0, dtype);
  const Tensor running_mean = channels(0, DType::f32), running_variance = channels(1, DType::f32);
  const Tensor mean = channels(0, DType::f32), rstd = channels(1, DType::f32);
  const Tensor weight_gradient = channels(0, dtype), bias_gradient = channels(0, dtype);
  const kernels::BatchNorm how = {cube};
  const auto name = fmt::format("{} {}x{}x{}", to_string(dtype), cube.outer, cube.axis, cube.inner);
  bench.time("batch norm " + name, 3 * bytes_of(x), [&] {
    kernels::batch_norm(bench.stream, how, bench.of(x), bench.of(weight), bench.of(bias),
                        bench.of(running_mean), bench.of(running_variance), bench.of(out),
                        bench.of(mean), bench.of(rstd));
  });
  bench.time("batch norm backward " + name, 5 * bytes_of(x), [&] {
    kernels::batch_norm_gradient(bench.stream, how, bench.of(x), bench.of(weight), bench.of(mean),
                                 bench.of(rstd), bench.of(gradient), bench.of(out),
                                 bench.of(weight_gradient), bench.of(bias_gradient));
  });
}

// Forward and backward; the gradient overwrites the logits.
void run_cross_entropy(const Bench& bench, std::int64_t rows, std::int64_t columns, DType dtype) {
  Generator generator(4);
  const Tensor logits = generator.normal({rows, columns}, 0, 1, dtype, bench.device);
  const Tensor targets = generator.integers({rows}, 0, columns, DType::i64, bench.device);
  const Tensor scale = Tensor::empty({1}, DType::f32, bench.device);
  const Tensor losses = Tensor::empty({rows}, DType::f32, bench.device);
  const kernels::CrossEntropy how = {rows, columns};
  bench.time(fmt::format("cross entropy {} {}x{}", to_string(dtype), rows, columns),
             2 * bytes_of(logits), [&] {
               kernels::target_weight(bench.stream, how, bench.of(targets), bench.of(scale));
               kernels::cross_entropy(bench.stream, how, bench.of(logits), bench.of(targets),
                                      bench.of(scale), bench.of(losses), bench.of(logits));
             });
}

void run_dropout(const Bench& bench, std::int64_t millions, DType dtype) {
  Generator generator(5);
  const Tensor x = generator.normal({millions * 1'000'000}, 0, 1, dtype, bench.device);
  const Tensor out = Tensor::empty(x.shape(), dtype, bench.device);
  bench.time(fmt::format("dropout {} {}M", to_string(dtype), millions), 2 * bytes_of(x), [&] {
    kernels::dropout(bench.stream, {1, 2}, {}, 0.1, bench.of(x), bench.of(out));
  });
}

void run_embedding(const Bench& bench, std::int64_t picks, std::int64_t entries,
                   std::int64_t columns, DType dtype) {
  Generator generator(6);
  const Tensor gradient = generator.normal({picks, columns}, 0, 1, dtype, bench.device);
  const Tensor index = generator.integers({picks}, 0, entries, DType::i64, bench.device);
  const Tensor out = Tensor::empty({entries, columns}, dtype, bench.device);
  bench.time(
      fmt::format("embedding backward {} {} of {}x{}", to_string(dtype), picks, entries, columns),
      bytes_of(gradient) + bytes_of(out), [&] {
        kernels::embedding_gradient(bench.stream, bench.of(gradient), bench.of(index),
                                    bench.of(out), picks, entries, columns);
      });
}

}  // namespace

void run_norms(Device device, const Report& report) {
  const Bench bench = {device, report, current_stream(device)};
  const auto clean = [&] { pool_of(device).release_cached(); };
  if (device.is_cpu()) {
    for (const auto& [rows, columns] : {std::pair{2048, 256}, std::pair{8192, 96}}) {
      run_softmax(bench, rows, columns, DType::f32);
      run_norm(bench, NormOp::layer, rows, columns, DType::f32);
      run_norm(bench, NormOp::rms, rows, columns, DType::f32);
      run_cross_entropy(bench, rows, columns, DType::f32);
    }
    run_batch_norm(bench, {16, 64, 3136}, DType::f32);
    run_cross_entropy(bench, 256, 50304, DType::f32);
    run_dropout(bench, 10, DType::f32);
    run_embedding(bench, 4096, 50304, 256, DType::f32);
    return;
  }
  run_softmax(bench, 16384, 4096, DType::bf16);
  run_softmax(bench, 1048576, 256, DType::bf16);
  run_softmax(bench, 262144, 192, DType::bf16);
  for (NormOp op : {NormOp::layer, NormOp::rms}) {
    run_norm(bench, op, 16384, 4096, DType::bf16);
    run_norm(bench, op, 1048576, 256, DType::bf16);
    run_norm(bench, op, 262144, 192, DType::bf16);
    run_norm(bench, op, 65536, 768, DType::bf16);
    run_norm(bench, op, 1048576, 96, DType::f32);
    clean();
  }
  run_batch_norm(bench, {64, 256, 3136}, DType::f32);
  clean();
  run_cross_entropy(bench, 32768, 50304, DType::bf16);
  clean();
  run_cross_entropy(bench, 1048576, 10, DType::f32);
  run_dropout(bench, 100, DType::f32);
  run_dropout(bench, 100, DType::bf16);
  run_embedding(bench, 32768, 50304, 1024, DType::bf16);
  clean();
}

}  // namespace causeway::bench
