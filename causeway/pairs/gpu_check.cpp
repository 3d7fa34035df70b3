#include "causeway/pairs/gpu_check.h"

#include "causeway/core/error.h"
#include "causeway/jit/batch.h"
#include "causeway/jit/gpu_kernel.h"
#include "causeway/pairs/parallel.h"
#include "causeway/runtime/device.h"
#include "causeway/runtime/pool.h"
#include "causeway/runtime/transfer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace causeway::pairs {

namespace {

constexpr std::size_t kAlignment = 256;  // of an array in device memory

// The arrays of all launches of a cubin, in one block of memory that crosses the bus twice.
class Arena {
 public:
  // Returns where the bytes begin.
  std::size_t add(const std::vector<std::byte>& bytes) {
    const std::size_t at = host_.size();
    host_.resize(at + (bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
    std::memcpy(host_.data() + at, bytes.data(), bytes.size());
    return at;
  }

  void upload(StreamView stream) {
    const MemoryScope named("pairs.check");
    buffer_ = pool_of(stream.device()).allocate(host_.size(), stream);
    transfer(buffer_.data(), stream.device(), host_.data(), Device::cpu(), host_.size(), stream);
  }
  void download(StreamView stream) {
    transfer(host_.data(), Device::cpu(), buffer_.data(), stream.device(), host_.size(), stream);
  }

  std::byte* on_device(std::size_t at) const { return buffer_.data() + at; }
  void read(std::size_t at, std::vector<std::byte>& bytes) const {
    std::memcpy(bytes.data(), host_.data() + at, bytes.size());
  }

 private:
  std::vector<std::byte> host_;
  Buffer buffer_;
};

// One launch with its memory on both sides.
struct Launched {
  std::size_t task = 0;
  const Launch* launch = nullptr;
  Memory inputs;
  std::vector<std::size_t> offsets;  // in the arena, by parameter
};

void queue(Launched& launched, const BackendTask& task, const lang::Emitted& emitted,
           const DeviceKernel& kernel, const Arena& arena, StreamView stream) {
  jit::BoundArguments arguments;
  arguments.list = launched.inputs.arguments(task.module(), task.function());
  for (std::size_t i = 0; i < arguments.list.size(); ++i) {
    lang::ArrayView& array = arguments.list[i].array;
    if (array.data != nullptr) array.data = arena.on_device(launched.offsets[i]);
  }
  const std::vector<std::int64_t> dims = launched.launch->dims();
  jit::PackedArguments packed(task.module(), task.function(), emitted, arguments, dims);
  kernel.launch(stream, grid_of(task.form, dims), packed.addresses());
}

std::string compare(Launched& launched, const BackendTask& task, const Arena& arena) {
  Memory found = launched.inputs;
  for (std::size_t i = 0; i < found.bytes.size(); ++i)
    arena.read(launched.offsets[i], found.bytes[i]);
  return task.compare(*launched.launch, std::move(launched.inputs), found);
}

// Of all tasks, those of one program; takes their texts.
void check_program(std::span<const BackendTask> all, const jit::Members& members,
                   std::span<lang::Emitted> emitted, std::span<GpuResult> results, Device device,
                   jit::WorkerProcesses* workers) {
  std::vector<const BackendTask*> tasks;
  std::vector<lang::Emitted> texts;
  for (const std::size_t i : members) {
    tasks.push_back(&all[i]);
    texts.push_back(std::move(emitted[i]));
  }
  jit::CudaOptions options = jit::options_for(device);
  options.fast_compile = true;  // three times as fast, and every kernel runs only a few times
  // Texts that a model wrote stay as they are.
  options.call_math =
      std::ranges::all_of(tasks, [](const BackendTask* task) { return task->text.empty(); });
  options.workers = workers;
  const std::vector<jit::BatchResult> codes = jit::compile_batch(texts, options, texts.size());
  std::map<const jit::Bytes*, std::unique_ptr<DeviceCode>> loaded;
  std::vector<DeviceKernel> kernels(tasks.size());
  std::vector<Launched> launches;
  const causeway::Stream stream(device);
  Arena arena;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    GpuResult& result = results[members[i]];
    if (codes[i].code == nullptr) {
      result.compiled = false;
      result.problem = codes[i].log;
      continue;
    }
    std::unique_ptr<DeviceCode>& code = loaded[codes[i].code.get()];
    if (code == nullptr) code = std::make_unique<DeviceCode>(*codes[i].code);
    kernels[i] = code->kernel(texts[i].entry);
    result.resources = kernels[i].resources(device);
    for (const Launch& launch : tasks[i]->launches) {
      Launched launched{i, &launch, tasks[i]->inputs(launch), {}};
      for (const std::vector<std::byte>& bytes : launched.inputs.bytes)
        launched.offsets.push_back(arena.add(bytes));
      launches.push_back(std::move(launched));
    }
  }
  if (launches.empty()) return;
  arena.upload(stream);
  for (Launched& launched : launches)
    queue(launched, *tasks[launched.task], texts[launched.task], kernels[launched.task], arena,
          stream);
  arena.download(stream);
  for (Launched& launched : launches) {
    std::string& problem = results[members[launched.task]].problem;
    if (problem.empty()) problem = compare(launched, *tasks[launched.task], arena);
  }
}

}  // namespace

void require_gpu() {
  const std::string absence = cuda_absence();
  if (!absence.empty()) fail(ErrorKind::device, "pairs", "verify: \"gpu\" needs a GPU: " + absence);
}

std::vector<GpuResult> check_on_gpu(std::span<const BackendTask> tasks, Device device, int threads,
                                    jit::WorkerProcesses* workers, bool last) {
  std::vector<GpuResult> results(tasks.size());
  std::vector<lang::Emitted> texts(tasks.size());
  in_parallel(tasks.size(), threads, [&](std::size_t i) {
    texts[i] = tasks[i].emit(lang::Dialect::cuda, "kernel_" + std::to_string(i));
  });
  const std::vector<jit::Members> programs =
      jit::divide(texts, last ? static_cast<std::size_t>(threads) : 1);
  // Threads wait while a worker process compiles: the others keep all workers busy.
  const int waiting = workers != nullptr ? threads : 0;
  in_parallel(programs.size(), threads + waiting, [&](std::size_t p) {
    check_program(tasks, programs[p], texts, results, device, workers);
  });
  return results;
}

}  // namespace causeway::pairs
