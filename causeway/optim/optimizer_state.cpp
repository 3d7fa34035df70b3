// State dict of an optimizer, and switching schedule-free parameters between training and averaged
// weights.
#include "causeway/core/error.h"
#include "causeway/optim/optimizer.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::optim {

using kernels::Control;

std::vector<const char*> state_names(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::sgd:
    case Algorithm::muon: return {"velocity"};
    case Algorithm::adam:
    case Algorithm::adamw: return {"mean", "square"};
    case Algorithm::rmsprop: return {"square", "velocity"};
    case Algorithm::adagrad: return {"square"};
    case Algorithm::schedule_free: return {"z", "square"};
  }
  return {};
}

bool Optimizer::has_averages() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
    return group.options.algorithm == Algorithm::schedule_free;
  });
}

// y interpolates x and z: x = y + (z - y) * (1 - 1 / beta1); inverse: y = x + (z - x) * (1 -
// beta1).
void Optimizer::swap_average(bool to_average) {
  if (averaged_ == to_average) return;
  averaged_ = to_average;
  const autograd::NoGrad plain;
  follow_writes();
  for (const Group& group : groups_) {
    if (group.options.algorithm != Algorithm::schedule_free) continue;
    const double beta = group.options.beta1;
    const double weight = to_average ? 1 - 1 / beta : 1 - beta;
    for (const Entry& entry : group.entries) {
      const Tensor from =
          entry.master.has_value() ? *entry.master : autograd::detach(entry.parameter);
      const Tensor mixed = from + (entry.states[0] - from) * Scalar(weight);
      if (entry.master.has_value()) entry.master->copy_from(mixed);
      autograd::detach(entry.parameter).copy_from(mixed);
    }
  }
}

void Optimizer::train() { swap_average(false); }
void Optimizer::eval() { swap_average(true); }

std::map<std::string, Tensor> Optimizer::state() {
  std::map<std::string, Tensor> state;
  if (!has_parameters()) return state;
  const autograd::NoGrad plain;
  follow_writes();
  state["control"] = control_;
  state["missed"] = missed_;
  if (has_averages()) state["averaged"] = full({}, averaged_, DType::boolean);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<const char*> names = state_names(groups_[g].options.algorithm);
    for (std::size_t p = 0; p < groups_[g].entries.size(); ++p) {
      const Entry& entry = groups_[g].entries[p];
      const std::string prefix = fmt::format("{}.{}.", g, p);
      for (std::size_t i = 0; i < names.size(); ++i) state[prefix + names[i]] = entry.states[i];
      if (entry.master.has_value()) state[prefix + "master"] = *entry.master;
    }
  }
  return state;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& given) {
  const std::map<std::string, Tensor> own = state();
  for (const auto& [name, tensor] : given) {
    if (own.contains(name)) continue;
    fail(ErrorKind::format, "optimizer.load_state",
         fmt::format("unexpected key \"{}\"; the state belongs to other groups or parameters",
                     name));
  }
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      fail(ErrorKind::format, "optimizer.load_state",
           fmt::format("key \"{}\" is missing; the state belongs to other groups or parameters",
                       name));
    }
    if (found->second.shape() != tensor.shape() || found->second.dtype() != tensor.dtype()) {
      fail(ErrorKind::format, "optimizer.load_state",
           fmt::format("\"{}\" is {} of {}, expected {} of {}", name,
                       to_string(found->second.shape()), to_string(found->second.dtype()),
                       to_string(tensor.shape()), to_string(tensor.dtype())));
    }
  }
  for (const auto& [name, tensor] : own) tensor.copy_from(given.at(name));
  know_writes();
  if (has_averages()) averaged_ = given.at("averaged").item() != 0;
  if (!has_parameters()) return;
  measured_ = true;
  if (!scales_) set_control(Control::loss_scale, 1);
  const double rate = control(Control::learning_rate).item();
  // The control block holds it in f32.
  if (static_cast<float>(options_.learning_rate) != rate) options_.learning_rate = rate;
}

}  // namespace causeway::optim
