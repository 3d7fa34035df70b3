#include "causeway/optim/optimizer.h"

#include "causeway/core/error.h"
#include "causeway/optim/muon.h"
#include "causeway/optim/requirements.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace causeway::optim {

namespace {

using kernels::Control;
using kernels::OptimizerOp;
using kernels::OptimizerTensor;

kernels::OptimizerSettings settings_of(const GroupOptions& options) {
  kernels::OptimizerSettings settings;
  settings.op = static_cast<OptimizerOp>(options.algorithm);
  const bool by_momentum =
      options.algorithm == Algorithm::sgd || options.algorithm == Algorithm::rmsprop;
  settings.beta1 = by_momentum ? options.momentum : options.beta1;
  settings.beta2 = options.beta2;
  settings.epsilon = options.epsilon;
  settings.weight_decay = options.weight_decay;
  settings.rate_factor = options.rate_factor;
  settings.nesterov = options.nesterov;
  return settings;
}
static_assert(static_cast<int>(Algorithm::schedule_free) ==
              static_cast<int>(OptimizerOp::schedule_free));

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool has_gradient(const Tensor& parameter) { return parameter.record()->gradient.has_value(); }

// Address of the first element; the memory is not reused until the work on `stream` is done.
void* address(const Tensor& x, StreamView stream) {
  x.storage()->buffer.used_on(stream);
  return x.data();
}

// Address of a parameter's gradient in the parameter's layout; a converted copy is stored in
// `made`.
const void* gradient_address(const Tensor& parameter, StreamView stream,
                             std::vector<Tensor>& made) {
  const Tensor& gradient = *parameter.record()->gradient;
  const bool aligned = reinterpret_cast<std::uintptr_t>(gradient.data()) % 16 == 0;
  const bool same = gradient.dtype() == parameter.dtype();
  if (aligned && same && gradient.is_contiguous()) return address(gradient, stream);
  made.push_back(aligned && same ? gradient.contiguous() : gradient.to(parameter.dtype()).clone());
  return address(made.back(), stream);
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  if (algorithm == Algorithm::muon) return "muon";
  return kernels::to_string(static_cast<OptimizerOp>(algorithm));
}

Optimizer::Optimizer(const OptimizerOptions& options)
    : options_(options), scales_(options.loss_scale != 1 || options.growth_interval > 0) {
  require_rate(options.learning_rate);
  require_norm(options.max_norm);
  require_scale(options.loss_scale);
}

Tensor Optimizer::control(Control which) const {
  return control_.slice(0, static_cast<int>(which), static_cast<int>(which) + 1).reshape({});
}

void Optimizer::set_control(Control which, double value) const {
  const Tensor slot = control(which);
  const StreamView stream = current_stream(slot.device());
  kernels::fill(stream, value, operand(slot, stream));
}

void Optimizer::set_group_options(std::size_t group, const GroupOptions& options) {
  require_options(options);
  GroupOptions& own = groups_.at(group).options;
  if (options.algorithm != own.algorithm) {
    fail(ErrorKind::invalid_argument, "optimizer",
         fmt::format("group {} uses {}; the algorithm of a group cannot change", group,
                     to_string(own.algorithm)));
  }
  own = options;
}

void Optimizer::add_group(const std::vector<Tensor>& parameters, const GroupOptions& options) {
  require_options(options);
  Group group{options, {}};
  std::set<const autograd::Record*> known;
  for (const Group& other : groups_) {
    for (const Entry& entry : other.entries) known.insert(entry.parameter.record().get());
  }
  for (const Tensor& parameter : parameters) {
    const bool first = !has_parameters();
    require_parameter(parameter, control_, first);
    if (options.algorithm == Algorithm::muon && parameter.n_dims() != 2) {
      fail(ErrorKind::shape_mismatch, "optimizer",
           fmt::format("muon requires 2-D parameters, got shape {}; use another algorithm for them",
                       to_string(parameter.shape())));
    }
    if (!known.insert(parameter.record().get()).second) {
      fail(ErrorKind::invalid_argument, "optimizer",
           fmt::format("a parameter of shape {} was added twice", to_string(parameter.shape())));
    }
    const MemoryScope scope("optimizer");
    if (first) {
      control_ = zeros({static_cast<int>(Control::count)}, DType::f32, parameter.device());
      set_control(Control::gradient_scale, 1 / options_.loss_scale);
      set_control(Control::loss_scale, options_.loss_scale);
      set_control(Control::learning_rate, options_.learning_rate);
    }
    Entry entry{parameter, {}, {}, parameter.storage()->n_writes};
    const DType wide = parameter.dtype() == DType::f64 ? DType::f64 : DType::f32;
    const Tensor plain = autograd::detach(parameter);
    if (is_half(parameter.dtype())) entry.master = plain.to(wide);
    for (const char* name : state_names(options.algorithm)) {
      const bool copies = std::string_view(name) == "z";
      entry.states.push_back(copies ? plain.to(wide).clone()
                                    : zeros(parameter.shape(), wide, parameter.device()));
    }
    group.entries.push_back(std::move(entry));
  }
  if (options.algorithm == Algorithm::muon) stack_matrices(group);
  groups_.push_back(std::move(group));
  extend_missed();
}

// A new group has missed all steps so far.
void Optimizer::extend_missed() {
  const auto n_new = static_cast<std::int64_t>(groups_.back().entries.size());
  if (n_new == 0) return;
  const MemoryScope scope("optimizer");
  const Tensor all = control(Control::step).expand({n_new}).clone();
  missed_ = missed_.numel() > 0 ? concatenate(std::vector<Tensor>{missed_, all}) : all;
}

void Optimizer::stack_matrices(Group& group) {
  for (std::size_t i = 0; i < group.entries.size(); ++i) {
    const Tensor& matrix = group.entries[i].parameter;
    const auto alike = [&](const Stack& stack) {
      const Tensor& other = group.entries[stack.entries.front()].parameter;
      return other.shape() == matrix.shape() && other.dtype() == matrix.dtype();
    };
    auto found = std::find_if(group.stacks.begin(), group.stacks.end(), alike);
    if (found == group.stacks.end()) found = group.stacks.insert(found, Stack());
    found->entries.push_back(i);
  }
  const MemoryScope scope("optimizer");
  for (Stack& stack : group.stacks) {
    std::vector<Tensor> velocities;
    std::vector<Tensor> masters;
    for (const std::size_t i : stack.entries) {
      velocities.push_back(group.entries[i].states[0]);
      if (group.entries[i].master.has_value()) masters.push_back(*group.entries[i].master);
    }
    stack.velocity = causeway::stack(velocities);
    if (!masters.empty()) stack.master = causeway::stack(masters);
    std::int64_t at = 0;
    for (const std::size_t i : stack.entries) {
      group.entries[i].states[0] = stack.velocity.select(0, at);
      if (!masters.empty()) group.entries[i].master = stack.master->select(0, at);
      ++at;
    }
  }
}

void Optimizer::set_max_norm(double norm) {
  require_norm(norm);
  options_.max_norm = norm;
}

void Optimizer::set_norm_reduction(std::function<void(const Tensor&)> reduce) {
  reduce_squares_ = std::move(reduce);
}

void Optimizer::set_learning_rate(double rate) {
  require_rate(rate);
  options_.learning_rate = rate;
  if (has_parameters()) set_control(Control::learning_rate, rate);
}

std::int64_t Optimizer::steps() const {
  return has_parameters() ? static_cast<std::int64_t>(control(Control::step).item()) : 0;
}

void Optimizer::zero_grad() {
  for (Group& group : groups_) {
    for (Entry& entry : group.entries) autograd::set_gradient(entry.parameter, std::nullopt);
  }
}

namespace {

// The tensors of one launch and its converted gradients, kept until it is queued.
struct Batch {
  std::vector<OptimizerTensor> list;
  std::vector<Tensor> made;
};

}  // namespace

// Sums of squares per dtype, then the norm of all gradients.
void Optimizer::measure_gradients(StreamView stream) {
  std::map<DType, Batch> batches;
  for (const Group& group : groups_) {
    for (const Entry& entry : group.entries) {
      if (!has_gradient(entry.parameter)) continue;
      Batch& batch = batches[entry.parameter.dtype()];
      OptimizerTensor tensor;
      tensor.gradient = gradient_address(entry.parameter, stream, batch.made);
      tensor.count = entry.parameter.numel();
      batch.list.push_back(tensor);
    }
  }
  const auto count = static_cast<std::int64_t>(batches.size());
  const Tensor squares = Tensor::empty({count}, DType::f64, control_.device());
  std::int64_t at = 0;
  for (const auto& [dtype, batch] : batches) {
    kernels::gradient_squares(stream, {batch.list, dtype},
                              operand(squares.slice(0, at, at + 1), stream));
    ++at;
  }
  if (reduce_squares_) reduce_squares_(squares);
  kernels::gradient_norm(stream, operand(squares, stream), options_.max_norm,
                         operand(control_, stream));
}

void Optimizer::step_fused(const Group& group, const Tensor& missed, StreamView stream) const {
  std::map<DType, Batch> batches;
  const auto* count = static_cast<const float*>(address(missed, stream));
  for (const Entry& entry : group.entries) {
    const float* own_count = count++;
    if (!has_gradient(entry.parameter)) continue;
    Batch& batch = batches[entry.parameter.dtype()];
    OptimizerTensor tensor;
    tensor.parameter = address(entry.parameter, stream);
    tensor.gradient = gradient_address(entry.parameter, stream, batch.made);
    for (std::size_t i = 0; i < entry.states.size(); ++i) {
      tensor.state[i] = address(entry.states[i], stream);
    }
    if (entry.master.has_value()) tensor.master = address(*entry.master, stream);
    tensor.missed = own_count;
    tensor.count = entry.parameter.numel();
    batch.list.push_back(tensor);
    ++entry.parameter.storage()->n_writes;
  }
  for (const auto& [dtype, batch] : batches) {
    kernels::optimizer_step(stream, settings_of(group.options), {batch.list, dtype},
                            operand(control_, stream));
  }
}

void Optimizer::step_muon(const Group& group) const {
  MuonStep how;
  how.momentum = group.options.momentum;
  how.weight_decay = group.options.weight_decay;
  how.rate_factor = group.options.rate_factor;
  how.epsilon = group.options.epsilon;
  how.nesterov = group.options.nesterov;
  how.iterations = group.options.newton_schulz_steps;
  for (const Stack& stack : group.stacks) {
    std::vector<Tensor> parameters;
    std::vector<Tensor> gradients;
    std::vector<const Entry*> stepped;
    for (const std::size_t i : stack.entries) {
      const Entry& entry = group.entries[i];
      const std::optional<Tensor> gradient = autograd::gradient_of(entry.parameter);
      if (!gradient.has_value()) continue;
      parameters.push_back(autograd::detach(entry.parameter));
      gradients.push_back(*gradient);
      stepped.push_back(&entry);
    }
    if (stepped.size() == stack.entries.size()) {
      muon_step(how, parameters, gradients, stack.velocity, stack.master, control_);
      continue;
    }
    // Parameters without a gradient are unchanged.
    for (std::size_t i = 0; i < stepped.size(); ++i) {
      std::optional<Tensor> master;
      if (stepped[i]->master.has_value()) master = stepped[i]->master->unsqueeze(0);
      muon_step(how, {&parameters[i], 1}, {&gradients[i], 1}, stepped[i]->states[0].unsqueeze(0),
                master, control_);
    }
  }
}

bool Optimizer::has_gradients() const {
  for (const Group& group : groups_) {
    for (const Entry& entry : group.entries) {
      if (has_gradient(entry.parameter)) return true;
    }
  }
  return false;
}

void Optimizer::forget_norm() {
  if (!std::exchange(measured_, false)) return;
  set_control(Control::gradient_scale, 1);
  set_control(Control::skip, 0);
}

// Counts a missed step for each parameter without a gradient.
void Optimizer::count_missed() {
  std::optional<Tensor> taken;
  const auto miss = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    if (!taken.has_value()) {
      taken = compare(CompareOp::equal, control(Control::skip), Scalar(0.0)).to(DType::f32);
    }
    const Tensor run = missed_.slice(0, begin, end);
    run.copy_from(run + *taken);
  };
  std::int64_t at = 0;
  std::int64_t begin = 0;  // of the run of such parameters that ends at `at`
  for (const Group& group : groups_) {
    for (const Entry& entry : group.entries) {
      if (has_gradient(entry.parameter)) {
        miss(begin, at);
        begin = at + 1;
      }
      ++at;
    }
  }
  miss(begin, at);
}

// Updates master weights from parameters that were written to. If a parameter equals its rounded
// master, as after weights were restored, the master stays.
void Optimizer::follow_writes() {
  for (Group& group : groups_) {
    for (Entry& entry : group.entries) {
      const std::uint64_t now = entry.parameter.storage()->n_writes;
      if (std::exchange(entry.n_writes, now) == now || !entry.master.has_value()) continue;
      const Tensor values = autograd::detach(entry.parameter);
      const Tensor rounded = entry.master->to(values.dtype());
      const Tensor same = compare(CompareOp::equal, values, rounded);
      entry.master->copy_from(where(same, *entry.master, values.to(entry.master->dtype())));
    }
  }
}

void Optimizer::step() {
  const MemoryScope scope("optimizer");
  if (averaged_) {
    fail(ErrorKind::invalid_argument, "optimizer.step",
         "the parameters hold averaged weights; call train() first");
  }
  if (!has_gradients()) return;
  const autograd::NoGrad plain;
  follow_writes();
  const StreamView stream = current_stream(control_.device());
  if (watches_norm()) {
    measure_gradients(stream);
    measured_ = true;
  } else {
    forget_norm();
  }
  kernels::begin_optimizer_step(stream, operand(control_, stream), options_.growth_interval);
  ++control_.storage()->n_writes;
  count_missed();
  std::int64_t first = 0;  // index of the group's first parameter
  for (const Group& group : groups_) {
    if (group.options.algorithm == Algorithm::muon) {
      step_muon(group);
    } else {
      step_fused(group, missed_.slice(0, first), stream);
    }
    first += static_cast<std::int64_t>(group.entries.size());
  }
  know_writes();
}

void Optimizer::know_writes() {
  for (Group& group : groups_) {
    for (Entry& entry : group.entries) entry.n_writes = entry.parameter.storage()->n_writes;
  }
}

}  // namespace causeway::optim
