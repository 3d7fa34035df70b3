#include "causeway/lang/interpret/interpreter.h"

#include "causeway/core/interrupt.h"
#include "causeway/lang/interpret/machine.h"

namespace causeway::lang {

ArrayView contiguous(void* data, std::span<const std::int64_t> shape, std::size_t element_bytes) {
  ArrayView view;
  view.data = data;
  auto stride = static_cast<std::int64_t>(element_bytes);
  for (std::size_t i = shape.size(); i-- > 0;) {
    view.shape[i] = shape[i];
    view.strides[i] = stride;
    stride *= shape[i];
  }
  return view;
}

struct Interpreter::State {
  interpret::Machine machine;
};

Interpreter::Interpreter(const Module& module, int kernel, const InterpretOptions& options)
    : state_(new State{interpret::Machine(module, kernel, options)}) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;

void Interpreter::launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  state_->machine.launch(dims, arguments, 0, total);
}

void Interpreter::launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
                         std::int64_t first, std::int64_t last) {
  state_->machine.launch(dims, arguments, first, last);
}

namespace interpret {

Machine::Machine(const Module& module, int kernel, const InterpretOptions& options)
    : module_(module),
      kernel_(static_cast<std::size_t>(kernel)),
      options_(options),
      layouts_(module.types.size()),
      plans_(module.functions.size()),
      frames_(module.functions.size()) {
  if (kernel < 0 || kernel_ >= module.functions.size() ||
      module.functions[kernel_].kind != FunctionKind::kernel) {
    fail(ErrorKind::invalid_argument, "lang.interpret", "there is no such kernel in the module");
  }
  for (TypeId id = 1; id < module.types.size(); ++id) {
    Layout& layout = layouts_[id];
    std::vector<Leaf> leaves;
    module.types.leaves(id, leaves);
    for (const Leaf& leaf : leaves) {
      layout.leaves.push_back({leaf.scalar, leaf.offset, layout.bytes});
      layout.bytes += static_cast<std::uint32_t>(register_bytes(leaf.scalar) * kLanes);
    }
    layout.size = module.types.is(id, TypeKind::tuple) ? 0 : module.types.size_bytes(id);
  }
  frame(kernel_);
}

const Layout& Machine::layout(TypeId type) { return layouts_[type]; }

void Machine::plan(std::size_t index) {
  FramePlan& plan = plans_[index];
  plan.function = &module_.functions[index];
  plan.place.resize(plan.function->insts.size());
  for (ValueId id = 0; id < plan.function->insts.size(); ++id) {
    const Inst& inst = (*plan.function)[id];
    if (inst.type == kNone) continue;
    if (module_.types.is(inst.type, TypeKind::array)) {
      plan.place[id] = plan.n_arrays++;
      continue;
    }
    plan.place[id] = plan.bytes;
    plan.bytes += layout(inst.type).bytes;
  }
}

Frame& Machine::frame(std::size_t function) {
  Frame& found = frames_[function];
  if (found.plan == nullptr) {
    plan(function);
    found.plan = &plans_[function];
    found.registers.resize(found.plan->bytes);
    found.arrays.resize(found.plan->n_arrays);
    found.assigned.resize(found.plan->function->insts.size());
    found.result.resize(layout(found.plan->function->result).bytes);
  }
  return found;
}

void Machine::fault(const Frame& frame, Span span, const Diagnostic& diagnostic) const {
  // Inside a builtin, the location is that of the user's call.
  if (frame.plan->function->helper && !call_spans_.empty()) span = call_spans_.back();
  if (module_.source == nullptr) throw Error(ErrorKind::invalid_argument, diagnostic.message);
  throw Error(ErrorKind::invalid_argument,
              CompileError(*module_.source, span, diagnostic).message());
}

void Machine::step(const Frame& frame, Span span) {
  constexpr std::uint64_t kCheckEvery = 1024;  // steps: well under a millisecond
  if (steps_ % kCheckEvery == 0) check_interrupt();
  if (++steps_ > options_.step_limit) {
    fault(frame, span,
          {"kernel \"" + std::string(module_.functions[kernel_].name) + "\" does not end",
           std::to_string(options_.step_limit) + " steps", "",
           "raise the step limit if the loop is meant to be long"});
  }
}

void Machine::launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
                     std::int64_t begin, std::int64_t end) {
  const Function& kernel = module_.functions[kernel_];
  if (dims.size() != static_cast<std::size_t>(kernel.dims)) {
    fail(ErrorKind::invalid_argument, "lang.interpret",
         "kernel \"" + std::string(kernel.name) + "\" has " + std::to_string(kernel.dims) +
             " launch dimensions, got " + std::to_string(dims.size()));
  }
  if (arguments.size() != kernel.params.size()) {
    fail(ErrorKind::invalid_argument, "lang.interpret",
         "kernel \"" + std::string(kernel.name) + "\" takes " +
             std::to_string(kernel.params.size()) + " arguments, got " +
             std::to_string(arguments.size()));
  }
  Frame& top = frame(kernel_);
  steps_ = 0;
  call_spans_.clear();
  for (ValueId id = 0; id < kernel.params.size(); ++id) {
    if (module_.types.is(kernel.params[id].type, TypeKind::array)) {
      ArrayRegister& array = top.arrays[top.plan->place[id]];
      array.view = &arguments[id].array;
      array.first_dim = 0;
      array.offsets = false;
      continue;
    }
    for (const RegisterLeaf& leaf : layout(kernel.params[id].type).leaves) {
      std::byte* r = reg(top, id) + leaf.register_;
      const auto* bytes = static_cast<const std::byte*>(arguments[id].value) + leaf.memory;
      if (leaf.scalar == Scalar::f16) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes, 2);
        for (int i = 0; i < kLanes; ++i) reinterpret_cast<float*>(r)[i] = half_to_float(half);
        continue;
      }
      const std::size_t size = size_of(leaf.scalar);
      for (std::size_t i = 0; i < kLanes; ++i) std::memcpy(r + i * size, bytes, size);
    }
  }
  constexpr std::int64_t kCheckThreads = 64 * kLanes;
  for (std::int64_t first = begin; first < end; first += kLanes) {
    if ((first - begin) % kCheckThreads == 0) check_interrupt();
    const std::int64_t n = std::min<std::int64_t>(kLanes, end - first);
    for (std::int64_t lane = 0; lane < n; ++lane) {
      std::int64_t rest = first + lane;
      for (std::size_t d = dims.size(); d-- > 0;) {
        tid_[d][lane] = static_cast<std::int32_t>(rest % dims[d]);
        rest /= dims[d];
      }
    }
    top.returned = top.broke = top.continued = 0;
    for (auto& tape : tape_) tape.clear();
    const Mask mask = n == kLanes ? ~Mask{0} : (Mask{1} << n) - 1;
    run_block(top, 0, mask);
  }
}

}  // namespace interpret
}  // namespace causeway::lang
