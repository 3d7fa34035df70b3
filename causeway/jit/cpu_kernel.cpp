#include "causeway/jit/cpu_kernel.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace causeway::jit {

namespace {

// Compiling takes about this long.
constexpr double kCompileSeconds = 0.5;
// Threads between looks at the clock, and the fewest for a processor thread, when interpreted and
// when compiled.
constexpr std::int64_t kInterpretedPiece = 4096;
constexpr std::int64_t kSmallestPiece = 256;
constexpr std::int64_t kNativePiece = 16384;

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Calls body(begin, end) for pieces of [begin, end), on several processor threads if `parallel`,
// and throws the first exception among them.
template <class Body>
void for_pieces(std::int64_t begin, std::int64_t end, std::int64_t grain, bool parallel,
                const Body& body) {
  if (!parallel) return body(begin, end);
  std::mutex mutex;
  std::exception_ptr problem;
  std::int64_t first_problem = end;
  parallel_for(end - begin, grain, [&](std::int64_t from, std::int64_t to) {
    try {
      body(begin + from, begin + to);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (from < first_problem) {
        problem = std::current_exception();
        first_problem = from;
      }
    }
  });
  if (problem) std::rethrow_exception(problem);
}

}  // namespace

CpuKernel::CpuKernel(const lang::Module& module, int kernel, const KernelTraits& traits)
    : module_(module), kernel_(kernel), traits_(traits) {}

const lang::Function& CpuKernel::function() const {
  return module_.functions[static_cast<std::size_t>(kernel_)];
}

bool CpuKernel::in_any_order(const BoundArguments& arguments) const {
  return traits_.independent && !arguments.overlapping;
}

CpuKernel::Ready CpuKernel::native(const BoundArguments& arguments, bool compile) {
  const std::lock_guard lock(mutex_);
  Native& form = natives_[(arguments.strided ? 2 : 0) + (arguments.overlapping ? 1 : 0)];
  if (form.call == nullptr) make_native(form, arguments, compile);
  return {&form.emitted, form.call};
}

void CpuKernel::make_native(Native& form, const BoundArguments& arguments, bool compile) {
  const bool first = !std::exchange(form.tried, true);
  if (traits_.uses_blocks || system_compiler().empty()) return;
  try {
    if (first) {
      lang::EmitOptions options{lang::Dialect::cpp};
      options.strided = arguments.strided;
      options.restrict_pointers = !arguments.overlapping;
      options.ranges = true;
      form.emitted = lang::emit(module_, kernel_, options);
    }
    if (form.emitted.text.empty()) return;
    const bool found = first && is_native_cached(form.emitted);
    if (compile || found) form.call = compile_native(form.emitted);
  } catch (const Error& error) {
    logger::warn(std::string(error.what()) + "; the kernel is interpreted");
    form.emitted = {};
  }
}

std::unique_ptr<lang::Interpreter> CpuKernel::take_interpreter() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto taken = std::move(idle_.back());
      idle_.pop_back();
      return taken;
    }
  }
  lang::InterpretOptions options;
  options.step_limit = std::numeric_limits<std::uint64_t>::max();
  return std::make_unique<lang::Interpreter>(module_, kernel_, options);
}

void CpuKernel::interpret(std::span<const std::int64_t> dims, const BoundArguments& arguments,
                          std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = product(dims.subspan(1));
  const std::int64_t grain = std::max<std::int64_t>(1, kSmallestPiece / inner);
  for_pieces(begin, end, grain, in_any_order(arguments), [&](std::int64_t from, std::int64_t to) {
    auto interpreter = take_interpreter();
    interpreter->launch(dims, arguments.list, from * inner, to * inner);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(interpreter));
  });
}

bool CpuKernel::run_native(const Ready& native, std::span<const std::int64_t> dims,
                           const BoundArguments& arguments, std::int64_t begin) {
  const std::int64_t inner = product(dims.subspan(1));
  const std::int64_t grain = std::max<std::int64_t>(1, kNativePiece / inner);
  const int capacity = traits_.uses_tape ? tape_capacity_.load() : 0;
  std::atomic<int> needed = 0;
  for_pieces(
      begin, dims[0], grain, in_any_order(arguments), [&](std::int64_t from, std::int64_t to) {
        std::vector<unsigned> words(static_cast<std::size_t>(capacity));
        int wanted = 0;
        PackedArguments packed(module_, function(), *native.emitted, arguments, dims,
                               {words.data(), capacity, &wanted});
        packed.set_range(from, to);
        native.call(packed.addresses());
        for (int seen = needed; seen < wanted && !needed.compare_exchange_weak(seen, wanted);) {
        }
      });
  if (needed <= capacity) return true;
  tape_capacity_ = std::max(capacity, needed.load());
  return false;
}

bool CpuKernel::launch(std::span<const std::int64_t> dims, const BoundArguments& arguments,
                       bool checked) {
  const std::int64_t inner = product(dims.subspan(1));
  if (checked) {
    lang::Interpreter(module_, kernel_).launch(dims, arguments.list);
    return true;
  }
  if (const Ready ready = native(arguments, false); ready.call != nullptr) {
    return run_native(ready, dims, arguments, 0);
  }
  const int n_threads = in_any_order(arguments) ? thread_count() : 1;
  // Pieces start small: how long a thread takes is not known.
  const auto rows = [&](std::int64_t threads) {
    return std::max<std::int64_t>(1, n_threads * threads / inner);
  };
  std::int64_t step = rows(lang::kLanes);
  const double start = now();
  for (std::int64_t row = 0, end = 0; row < dims[0]; row = end) {
    end = std::min(row + step, dims[0]);
    step = std::min(2 * step, rows(kInterpretedPiece));
    interpret(dims, arguments, row, end);
    check_interrupt();
    // The compiled form of an adjoint may run out of tape, which needs fresh gradients: it does not
    // take over a launch halfway.
    const double spent = now() - start;
    const double left = spent / static_cast<double>(end) * static_cast<double>(dims[0] - end);
    if (end == dims[0] || traits_.uses_tape) continue;
    if (interpreted_seconds_ + spent + left < 2 * kCompileSeconds || left < kCompileSeconds) {
      continue;
    }
    if (const Ready made = native(arguments, true); made.call != nullptr) {
      return run_native(made, dims, arguments, end);
    }
  }
  interpreted_seconds_ += now() - start;
  if (interpreted_seconds_ > kCompileSeconds) native(arguments, true);
  return true;
}

}  // namespace causeway::jit
