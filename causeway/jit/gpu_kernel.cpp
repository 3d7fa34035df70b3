#include "causeway/jit/gpu_kernel.h"

#include "causeway/core/error.h"
#include "causeway/jit/autotune.h"
#include "causeway/jit/line_map.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace causeway::jit {

namespace {

GridSize grid_for(std::int64_t n_blocks, int block_size) {
  GridSize size;
  size.grid[0] = static_cast<unsigned>(n_blocks);
  size.block[0] = static_cast<unsigned>(block_size);
  return size;
}

// Describing a device asks the driver for much; what launches need does not change.
const DeviceInfo& info_of(Device device) {
  static std::mutex mutex;
  static auto* known = new std::map<int, DeviceInfo>();
  const std::lock_guard lock(mutex);
  const auto found = known->find(device.index);
  if (found != known->end()) return found->second;
  return known->emplace(device.index, describe(device)).first->second;
}

}  // namespace

CudaOptions options_for(Device device) {
  const DeviceInfo& info = info_of(device);
  CudaOptions options;
  options.architecture = 10 * info.capability_major + info.capability_minor;
  return options;
}

GpuKernel::GpuKernel(const lang::Module& module, int kernel, const KernelTraits& traits)
    : module_(module), kernel_(kernel), traits_(traits) {}

GpuKernel::Form& GpuKernel::form(Device device, bool strided, bool overlapping) {
  const CudaOptions options = options_for(device);
  const std::lock_guard lock(mutex_);
  Form& found = forms_[{options.architecture, strided, overlapping}];
  if (found.code != nullptr) return found;
  lang::EmitOptions how;
  how.strided = strided;
  how.restrict_pointers = !overlapping;
  found.emitted = lang::emit(module_, kernel_, how);
  Bytes cubin;
  try {
    cubin = compile_cuda({found.emitted.entry + ".cu", found.emitted.text}, options);
  } catch (const CudaCompileError& error) {
    throw CudaCompileError(found.emitted.entry + ".cu",
                           with_python_lines(module_, found.emitted, error.log()));
  }
  found.code = std::make_shared<DeviceCode>(cubin);
  found.kernel = found.code->kernel(found.emitted.entry);
  return found;
}

int GpuKernel::block_size(Form& form, Device device) {
  const std::lock_guard lock(mutex_);
  int& chosen = form.block_sizes[device.index];
  if (chosen > 0) return chosen;
  const int limit = form.kernel.resources(device).max_threads;
  int most = 0;
  // Of equal occupancies the first: 256 threads hide latencies and leave short tails.
  for (const int size : {256, 128, 512, 64, 1024}) {
    const int threads = size <= limit ? size * form.kernel.active_blocks(device, size) : 0;
    if (threads > most) {
      most = threads;
      chosen = size;
    }
  }
  return chosen = std::max(chosen, 32);
}

int GpuKernel::resident_blocks(Form& form, Device device, int block_size) {
  const std::lock_guard lock(mutex_);
  int& known = form.resident_blocks[{device.index, block_size}];
  if (known == 0) {
    known = std::max(1, form.kernel.active_blocks(device, block_size)) *
            info_of(device).multiprocessors;
  }
  return known;
}

bool GpuKernel::launch(std::span<const std::int64_t> dims, const BoundArguments& arguments,
                       StreamView stream, int block_size) {
  Form& chosen = form(stream.device(), arguments.strided, arguments.overlapping);
  if (block_size == 0 && traits_.uses_blocks) block_size = kReductionBlock;
  if (block_size == 0) block_size = this->block_size(chosen, stream.device());
  if (traits_.uses_tape) return launch_with_tape(chosen, dims, arguments, stream, block_size);
  PackedArguments packed(module_, module_.functions[static_cast<std::size_t>(kernel_)],
                         chosen.emitted, arguments, dims);
  // The kernel is a grid-stride loop over 32-bit coordinates: one step past the last must fit.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t room = dims.size() == 1 ? (kMost - dims[0]) / block_size : kMost;
  // Threads with the same work all end together, so one wave of blocks that stay for the whole loop
  // saves the start of the others. Where work differs, many blocks balance it.
  const std::int64_t most =
      traits_.has_loops
          ? room
          : std::min<std::int64_t>(room, resident_blocks(chosen, stream.device(), block_size));
  const std::int64_t blocks =
      std::clamp<std::int64_t>((product(dims) + block_size - 1) / block_size, 1, most);
  chosen.kernel.launch(stream, grid_for(blocks, block_size), packed.addresses());
  return true;
}

bool GpuKernel::launch_with_tape(Form& form, std::span<const std::int64_t> dims,
                                 const BoundArguments& arguments, StreamView stream,
                                 int block_size) {
  const Device device = stream.device();
  const std::int64_t blocks = std::min<std::int64_t>((product(dims) + block_size - 1) / block_size,
                                                     resident_blocks(form, device, block_size));
  const int capacity = tape_capacity_;
  const MemoryScope named("kernel.tape");
  const auto n_words =
      static_cast<std::size_t>(blocks * block_size) * static_cast<std::size_t>(capacity);
  const Buffer words = pool_of(device).allocate(n_words * sizeof(unsigned), stream);
  const Buffer needed = pool_of(device).allocate(sizeof(int), stream);
  driver::fill_async(device.index, needed.data(), 0, sizeof(int), stream.handle());
  PackedArguments packed(
      module_, module_.functions[static_cast<std::size_t>(kernel_)], form.emitted, arguments, dims,
      {reinterpret_cast<unsigned*>(words.data()), capacity, reinterpret_cast<int*>(needed.data())});
  form.kernel.launch(stream, grid_for(blocks, block_size), packed.addresses());
  if (capturing()) return true;  // the launch before the capture found the capacity
  int wanted = 0;
  transfer(&wanted, Device::cpu(), needed.data(), device, sizeof(int), stream);
  if (wanted <= capacity) return true;
  tape_capacity_ = wanted;
  return false;
}

int GpuKernel::tuned_block_size(std::span<const std::int64_t> dims, StreamView stream,
                                const std::function<BoundArguments()>& scratch) {
  if (traits_.uses_blocks || traits_.uses_tape) return 0;
  const Device device = stream.device();
  const int magnitude = std::bit_width(static_cast<std::uint64_t>(product(dims)));
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = tuned_.find({device.index, magnitude}); known != tuned_.end()) {
      return known->second;
    }
  }
  const BoundArguments arguments = scratch();
  const Form& chosen = form(device, arguments.strided, arguments.overlapping);
  const int limit = chosen.kernel.resources(device).max_threads;
  std::vector<int> candidates;
  for (const int size : {64, 128, 256, 512, 1024}) {
    if (size <= limit) candidates.push_back(size);
  }
  const std::string key = DiskCache::key(
      {"block size", chosen.emitted.text, info_of(device).name, std::to_string(magnitude)});
  const int best = fastest_of(DiskCache::shared(), key, candidates, [&](int size) {
    constexpr int kLaunches = 5;
    launch(dims, arguments, stream, size);  // warms up
    Event start(device, true);
    Event end(device, true);
    start.record(stream);
    for (int i = 0; i < kLaunches; ++i) launch(dims, arguments, stream, size);
    end.record(stream);
    return Event::milliseconds(start, end);
  });
  const std::lock_guard lock(mutex_);
  return tuned_[{device.index, magnitude}] = best;
}

KernelResources GpuKernel::resources(Device device) {
  return form(device, false, false).kernel.resources(device);
}

}  // namespace causeway::jit
