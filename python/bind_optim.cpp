// Optimizers, schedules and weight averages: causeway.optim.
#include "causeway/optim/average.h"
#include "causeway/optim/optimizer.h"
#include "causeway/optim/schedule.h"
#include "causeway/core/error.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

using optim::Algorithm;
using optim::GroupOptions;
using optim::Optimizer;

Algorithm read_algorithm(const std::string& name) {
  for (Algorithm algorithm : {Algorithm::sgd, Algorithm::adam, Algorithm::adamw, Algorithm::rmsprop,
                              Algorithm::adagrad, Algorithm::schedule_free, Algorithm::muon}) {
    if (optim::to_string(algorithm) == name) return algorithm;
  }
  fail(ErrorKind::invalid_argument, "optimizer", "unknown algorithm \"" + name + "\"");
}

void bind_optimizer(nb::module_& module) {
  nb::class_<GroupOptions>(module, "_GroupOptions", "Options of a group of parameters.")
      .def(
          "__init__",
          [](GroupOptions* self, const std::string& algorithm, double momentum, double beta1,
             double beta2, double epsilon, double weight_decay, double rate_factor, bool nesterov,
             int iterations) {
            new (self) GroupOptions{read_algorithm(algorithm),
                                    momentum,
                                    beta1,
                                    beta2,
                                    epsilon,
                                    weight_decay,
                                    rate_factor,
                                    nesterov,
                                    iterations};
          },
          "algorithm"_a, "momentum"_a, "beta1"_a, "beta2"_a, "epsilon"_a, "weight_decay"_a,
          "rate_factor"_a, "nesterov"_a, "iterations"_a);
  nb::class_<Optimizer>(module, "_Optimizer", "An optimizer of parameter groups.")
      .def(
          "__init__",
          [](Optimizer* self, double lr, double max_norm, double loss_scale,
             std::int64_t growth_interval) {
            new (self) Optimizer({lr, max_norm, loss_scale, growth_interval});
          },
          "lr"_a, "max_norm"_a = 0.0, "loss_scale"_a = 1.0, "growth_interval"_a = 0)
      .def(
          "_add_group",
          [](Optimizer& self, const std::vector<Tensor>& parameters, const GroupOptions& options) {
            self.add_group(parameters, options);
          },
          "parameters"_a, "options"_a)
      .def("_set_group_options", &Optimizer::set_group_options, "group"_a, "options"_a)
      .def(
          "step", [](Optimizer& self) { without_gil([&] { self.step(); }); },
          "Updates every parameter that has a gradient; does not synchronise.")
      .def("zero_grad", &Optimizer::zero_grad, "Releases all gradients.")
      .def_prop_rw("lr", &Optimizer::learning_rate, &Optimizer::set_learning_rate,
                   "The learning rate.")
      .def_prop_rw("max_norm", &Optimizer::max_norm, &Optimizer::set_max_norm,
                   "Gradients are clipped to this norm; 0: no clipping.")
      .def_prop_ro("norm", &Optimizer::norm,
                   "Gradient norm of the last step before clipping, a tensor on the device.")
      .def_prop_ro("loss_scale", &Optimizer::loss_scale, "The loss scale, a tensor on the device.")
      .def_prop_ro("steps", &Optimizer::steps, "Number of steps taken; waits for the device.")
      .def(
          "train", &Optimizer::train,
          "Training mode: schedule-free parameters hold the point at which gradients are computed.")
      .def("eval", &Optimizer::eval,
           "Evaluation mode: schedule-free parameters hold their average.")
      .def("state_dict", &Optimizer::state, "State tensors by name, sharing memory.")
      .def("load_state_dict", &Optimizer::load_state, "state"_a,
           "Loads a state of the same groups.");
}

void bind_averages(nb::module_& module) {
  using optim::LastAverage;
  using optim::MovingAverage;
  nb::class_<MovingAverage>(module, "EMA", "An exponential moving average of weights, in f32.")
      .def(nb::init<const std::vector<Tensor>&, double>(), "weights"_a, "decay"_a = 0.999)
      .def(
          "update", [](MovingAverage& self) { without_gil([&] { self.update(); }); },
          "Updates the average.")
      .def_prop_ro("values", &MovingAverage::values, "The averages.")
      .def("copy_to_weights", &MovingAverage::copy_to_weights,
           "Copies the averages into the weights.")
      .def("state_dict", &MovingAverage::state, "The averages by name, sharing memory.")
      .def("load_state_dict", &MovingAverage::load_state, "state"_a,
           "Loads a state of the same weights.");
  nb::class_<LastAverage>(module, "LastAverage", "The mean of the last k snapshots of weights.")
      .def(nb::init<const std::vector<Tensor>&, std::size_t>(), "weights"_a, "k"_a)
      .def(
          "update", [](LastAverage& self) { without_gil([&] { self.update(); }); },
          "Takes a snapshot.")
      .def_prop_ro("values", &LastAverage::values, "The averages.")
      .def("copy_to_weights", &LastAverage::copy_to_weights,
           "Copies the averages into the weights.")
      .def("state_dict", &LastAverage::state, "The snapshots by name, sharing memory.")
      .def("load_state_dict", &LastAverage::load_state, "state"_a,
           "Loads a state of the same weights.");
}

void bind_schedule(nb::module_& module) {
  using optim::Decay;
  using optim::Schedule;
  nb::class_<Schedule>(module, "Schedule",
                       "A learning-rate schedule: linear warm-up to `peak` over `warmup` steps, "
                       "then \"constant\", or "
                       "\"linear\" or \"cosine\" decay until step `total`.")
      .def(
          "__init__",
          [](Schedule* self, double peak, std::int64_t total, std::int64_t warmup,
             const std::string& decay, double floor) {
            Decay how = Decay::constant;
            if (decay == "linear") {
              how = Decay::linear;
            } else if (decay == "cosine") {
              how = Decay::cosine;
            } else if (decay != "constant") {
              fail(ErrorKind::invalid_argument, "schedule",
                   "decay \"" + decay + "\": expected \"constant\", \"linear\" or \"cosine\"");
            }
            if (how != Decay::constant && total <= warmup) {
              fail(ErrorKind::invalid_argument, "schedule",
                   "total " + std::to_string(total) + ": the " + decay +
                       " decay must end after the warm-up of " + std::to_string(warmup) + " steps");
            }
            new (self) Schedule{peak, warmup, total, how, floor};
          },
          "peak"_a, "total"_a = 0, "warmup"_a = 0, "decay"_a = "constant", "floor"_a = 0.0)
      .def("__call__", &Schedule::at, "step"_a, "The learning rate of a step, from 0.");
}

}  // namespace

void bind_optim(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_optim", "Optimizers.");
  bind_optimizer(module);
  bind_averages(module);
  bind_schedule(module);
}

}  // namespace causeway::python
