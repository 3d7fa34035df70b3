// Attention, forward and backward, with the kernel that the library selects: bf16 on a GPU, f32 on
// the CPU. A causal mask halves the counted operations.
#include "bench/harness.h"
#include "causeway/kernels/attention/attention.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway::bench {

namespace {

struct Row {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t length;
  std::int64_t head_size;
  kernels::AttentionMask mask;
  std::int64_t context = 0;  // the keys that are context rows, as in tabular models; 0: no context
};

void run_row(const Row& row, Device device, const Report& report) {
  const DType dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  const Shape shape{row.batch, row.heads, row.length, row.head_size};
  Generator generator(4);
  const auto draw = [&] { return generator.normal(shape, 0, 1, dtype, device); };
  const Tensor q = draw();
  const Tensor k = draw();
  const Tensor v = draw();
  const Tensor gradient = draw();
  const Tensor out = Tensor::empty(shape, dtype, device);
  const Tensor log_sum = Tensor::empty({row.batch, row.heads, row.length}, DType::f32, device);
  const Tensor q_gradient = Tensor::empty(shape, dtype, device);
  const Tensor k_gradient = Tensor::empty(shape, dtype, device);
  const Tensor v_gradient = Tensor::empty(shape, dtype, device);
  kernels::Attention how;
  how.mask = row.mask;
  how.scale = 1 / std::sqrt(static_cast<double>(row.head_size));
  const StreamView stream = current_stream(device);
  const auto of = [&](const Tensor& x) { return operand(x, stream); };
  const Tensor contexts = full({row.batch}, static_cast<double>(row.context), DType::i64, device);
  const auto context = row.context > 0 ? of(contexts) : kernels::Operand{};

  const bool causal = row.mask == kernels::AttentionMask::causal;
  const auto pairs = static_cast<double>(row.batch * row.heads) * static_cast<double>(row.length) *
                     static_cast<double>(row.context > 0 ? row.context : row.length) *
                     (causal ? 0.5 : 1);
  const double product = 2 * pairs * static_cast<double>(row.head_size);
  const auto one = static_cast<double>(q.n_bytes());
  std::string name = fmt::format("attention {},{},{},{} {}", row.batch, row.heads, row.length,
                                 row.head_size, to_string(row.mask));
  if (row.context > 0) name += fmt::format(" {} keys", row.context);
  report(measure({name + " forward", 4 * one, 2 * product,
                  [&] {
                    kernels::attention(stream, how, of(q), of(k), of(v), context, of(out),
                                       of(log_sum));
                  }},
                 device));
  const auto backward = [&](const char* what, bool deterministic) {
    how.deterministic = deterministic;
    report(measure({name + what, 8 * one, 5 * product,
                    [&] {
                      kernels::attention_gradient(stream, how, of(q), of(k), of(v), context,
                                                  of(out), of(log_sum), of(gradient),
                                                  of(q_gradient), of(k_gradient), of(v_gradient));
                    }},
                   device));
  };
  // Nondeterministic for long sequences, as the peers run it, and with our deterministic default.
  backward(" backward", false);
  if (row.length > 512 && row.context == 0) backward(" backward, same bits", true);
}

}  // namespace

void run_attention(Device device, const Report& report) {
  using kernels::AttentionMask;
  if (device.is_cpu()) return run_row({8, 4, 256, 32, AttentionMask::full}, device, report);
  for (const Row& row :
       {Row{16, 12, 1024, 64, AttentionMask::causal}, Row{4, 16, 4096, 128, AttentionMask::causal},
        Row{2, 16, 8192, 128, AttentionMask::full}, Row{32, 90, 256, 64, AttentionMask::full},
        Row{8, 90, 2048, 64, AttentionMask::full, 1400},
        Row{32, 84, 1024, 32, AttentionMask::full, 600}, Row{256, 4, 128, 32, AttentionMask::full},
        Row{4096, 4, 20, 32, AttentionMask::full}}) {
    run_row(row, device, report);
  }
}

}  // namespace causeway::bench
