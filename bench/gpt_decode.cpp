// Text generation with GPT-2 124M for one sequence on a GPU: the time of a step, and the mean time
// of each of its parts over the multiprocessors.
#include "bench/harness.h"
#include "causeway/core/error.h"
#include "causeway/models/gpt_decoder.h"
#include "causeway/tensor/create.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace causeway::bench {

namespace {

constexpr std::int64_t kSteps = 512;

double step_ms(models::GptDecoder& decoder) {
  models::GenerateOptions options;
  options.tokens = kSteps;
  decoder.generate({{7, 7, 7}}, options);
  return milliseconds_of([&] { decoder.generate({{7, 7, 7}}, options); }) / kSteps;
}

void report_ms(const std::string& name, double ms, const Report& report) {
  Result result;
  result.name = name;
  result.ms = result.ms_best = ms;
  report(result);
}

// The parts of the last step: clock cycles, converted by the length of the step in ns and cycles.
void report_trace(const std::string& name, models::GptDecoder& decoder, Device device,
                  const Report& report) {
  kernels::DecodeModel& model = *decoder.fused();
  const int n_marks = kernels::decode_trace_marks(model.n_layers);
  const int n_blocks = kernels::cuda::decode_blocks(device);
  const Tensor trace = zeros({n_blocks, n_marks}, DType::i64, device);
  synchronize(device);
  model.trace = reinterpret_cast<std::uint64_t*>(trace.data());
  step_ms(decoder);
  model.trace = nullptr;
  const Tensor marks = trace.to(Device::cpu());
  const int n_parts = n_marks - 3;
  std::vector<double> ms(static_cast<std::size_t>(n_parts));
  for (int b = 0; b < n_blocks; ++b) {
    const auto* line =
        reinterpret_cast<const std::int64_t*>(marks.data()) + std::int64_t{b} * n_marks;
    const auto ns = static_cast<double>(line[n_marks - 1] - line[n_marks - 2]);
    const double ms_per_cycle = ns / static_cast<double>(line[n_parts] - line[0]) / 1e6;
    for (int i = 0; i < n_parts; ++i) {
      ms[static_cast<std::size_t>(i)] +=
          static_cast<double>(line[i + 1] - line[i]) * ms_per_cycle / n_blocks;
    }
  }
  const int in_layers = model.n_layers * kernels::kDecodePartsPerLayer;
  for (int p = 0; p < kernels::kDecodePartsPerLayer; ++p) {
    double sum = 0;
    for (int i = p; i < in_layers; i += kernels::kDecodePartsPerLayer) {
      sum += ms[static_cast<std::size_t>(i)];
    }
    report_ms(fmt::format("{} {}, mean of layers", name, kernels::kDecodeLayerParts[p]),
              sum / model.n_layers, report);
  }
  for (int i = in_layers; i < n_parts; ++i) {
    report_ms(fmt::format("{} {}", name, kernels::kDecodeHeadParts[i - in_layers]),
              ms[static_cast<std::size_t>(i)], report);
  }
}

}  // namespace

void run_gpt_decode(Device device, const Report& report) {
  if (device.is_cpu()) {
    fail(ErrorKind::invalid_argument, "bench", "gpt-decode measures a GPU; there is none");
  }
  for (const bool rounds : {false, true}) {
    Generator generator(1);
    nn::Placement placement;
    placement.generator = &generator;
    models::Gpt model(models::GptConfig::preset("gpt2"), placement);
    model.to(DType::bf16);
    model.to(device);
    const auto int8 = rounds ? std::make_shared<const models::GptInt8>(model) : nullptr;
    models::GptDecoder decoder(model, 1, model.config().length, int8);
    const std::string name = rounds ? "int8" : "bf16";
    if (decoder.fused() == nullptr) {
      fail(ErrorKind::invalid_argument, "bench", "this GPU does not take the kernel of gpt-decode");
    }
    report_ms(name + " step", step_ms(decoder), report);
    report_trace(name, decoder, device, report);
  }
}

}  // namespace causeway::bench
