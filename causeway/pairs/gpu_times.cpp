#include "causeway/pairs/gpu_times.h"

#include "causeway/core/error.h"
#include "causeway/jit/batch.h"
#include "causeway/jit/gpu_kernel.h"
#include "causeway/runtime/pool.h"
#include "causeway/runtime/transfer.h"

#include <algorithm>
#include <map>
#include <memory>

namespace causeway::pairs {

namespace {

constexpr std::int64_t kThreads = 1 << 20;
constexpr std::int64_t kLargestArray = std::int64_t{1} << 26;  // elements
constexpr std::uint64_t kPeriod = 4096;                        // the content is not looked at

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t total = 1;
  for (const std::int64_t size : sizes) total *= size;
  return total;
}

bool is_large_enough(const Program& program, const InputSet& set) {
  if (product(launch_dims(program, set)) >= kThreads) return true;
  return std::ranges::any_of(program.parameters, [&](const Parameter& parameter) {
    return parameter.array && product(array_shape(program, parameter, set)) >= kLargestArray;
  });
}

double time_kernel(const BackendTask& task, const lang::Emitted& emitted,
                   const DeviceKernel& kernel, StreamView stream) {
  const Launch& launch = task.launches.front();
  Memory memory = make_memory(*launch.program, launch.set, task.module(), task.function(), kPeriod);
  jit::BoundArguments arguments;
  arguments.list = memory.arguments(task.module(), task.function());
  std::vector<Buffer> buffers;
  const MemoryScope named("pairs.times");
  for (std::size_t i = 0; i < arguments.list.size(); ++i) {
    lang::ArrayView& array = arguments.list[i].array;
    if (array.data == nullptr) continue;
    const std::vector<std::byte>& bytes = memory.bytes[i];
    buffers.push_back(pool_of(stream.device()).allocate(bytes.size(), stream));
    transfer(buffers.back().data(), stream.device(), bytes.data(), Device::cpu(), bytes.size(),
             stream);
    array.data = buffers.back().data();
  }
  const std::vector<std::int64_t> dims = launch.dims();
  jit::PackedArguments packed(task.module(), task.function(), emitted, arguments, dims);
  const GridSize size = grid_of(task.form, dims);
  double best = 0;
  for (int round = 0; round < 4; ++round) {  // the first one warms up
    constexpr int kLaunches = 5;
    Event start(stream.device(), true);
    Event end(stream.device(), true);
    start.record(stream);
    for (int i = 0; i < kLaunches; ++i) kernel.launch(stream, size, packed.addresses());
    end.record(stream);
    const double microseconds = 1000 * Event::milliseconds(start, end) / kLaunches;
    if (round == 1 || (round > 1 && microseconds < best)) best = microseconds;
  }
  return best;
}

}  // namespace

InputSet timing_set(const Program& program) {
  InputSet set = input_sets(program).front();
  for (int doublings = 0; doublings < 20 && !is_large_enough(program, set); ++doublings) {
    for (int& size : set.sizes) size *= 2;
  }
  return set;
}

std::vector<double> time_on_gpu(std::span<const BackendTask> tasks, Device device,
                                jit::WorkerProcesses* workers) {
  std::vector<lang::Emitted> texts;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    texts.push_back(tasks[i].emit(lang::Dialect::cuda, "kernel_" + std::to_string(i)));
  jit::CudaOptions options = jit::options_for(device);
  options.workers = workers;
  const std::vector<jit::BatchResult> codes = jit::compile_batch(texts, options, 16);
  std::map<const jit::Bytes*, std::unique_ptr<DeviceCode>> loaded;
  std::vector<double> times;
  const causeway::Stream stream(device);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (codes[i].code == nullptr) fail(ErrorKind::compile, "pairs", codes[i].log);
    std::unique_ptr<DeviceCode>& code = loaded[codes[i].code.get()];
    if (code == nullptr) code = std::make_unique<DeviceCode>(*codes[i].code);
    times.push_back(time_kernel(tasks[i], texts[i], code->kernel(texts[i].entry), stream));
  }
  return times;
}

}  // namespace causeway::pairs
