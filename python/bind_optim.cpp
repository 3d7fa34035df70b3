// Optimizers, schedules and averages: causeway.optim.
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
  fail(ErrorKind::invalid_argument, "optimizer", "there is no algorithm \"" + name + "\"");
}

void bind_optimizer(nb::module_& module) {
  nb::class_<Optimizer>(module, "_Optimizer", "Groups of parameters that are stepped together.")
      .def(
          "__init__",
          [](Optimizer* self, double lr, double max_norm, double loss_scale,
             std::int64_t growth_interval) {
            new (self) Optimizer({lr, max_norm, loss_scale, growth_interval});
          },
          "lr"_a, "max_norm"_a = 0.0, "loss_scale"_a = 1.0, "growth_interval"_a = 0)
      .def(
          "_add_group",
          [](Optimizer& self, const std::vector<Tensor>& parameters, const std::string& algorithm,
             double momentum, double beta1, double beta2, double epsilon, double weight_decay,
             double rate_factor, bool nesterov, int iterations) {
            self.add_group(parameters, {read_algorithm(algorithm), momentum, beta1, beta2, epsilon,
                                        weight_decay, rate_factor, nesterov, iterations});
          },
          "parameters"_a, "algorithm"_a, "momentum"_a, "beta1"_a, "beta2"_a, "epsilon"_a,
          "weight_decay"_a, "rate_factor"_a, "nesterov"_a, "iterations"_a)
      .def(
          "step", [](Optimizer& self) { without_gil([&] { self.step(); }); },
          "One step for every parameter that has a gradient; never waits for the device.")
      .def("zero_grad", &Optimizer::zero_grad, "Lets go of all gradients.")
      .def_prop_rw("lr", &Optimizer::learning_rate, &Optimizer::set_learning_rate,
                   "The learning rate.")
      .def_prop_rw("max_norm", &Optimizer::max_norm, &Optimizer::set_max_norm,
                   "Gradients are scaled down to this norm; 0: never.")
      .def_prop_ro("norm", &Optimizer::norm,
                   "The last step's gradient norm before clipping, on the device.")
      .def_prop_ro("loss_scale", &Optimizer::loss_scale,
                   "What to multiply the loss by, on the device.")
      .def_prop_ro("steps", &Optimizer::steps, "Steps taken; waits for the device.")
      .def("train", &Optimizer::train, "Schedule-free parameters go to where gradients are taken.")
      .def("eval", &Optimizer::eval, "Schedule-free parameters go to their average.")
      .def("state_dict", &Optimizer::state, "States by name, sharing memory.")
      .def("load_state_dict", &Optimizer::load_state, "state"_a,
           "Copies values in; wants the same groups.");
}

void bind_averages(nb::module_& module) {
  using optim::LastAverage;
  using optim::MovingAverage;
  nb::class_<MovingAverage>(module, "EMA", "An exponential moving average of weights, in f32.")
      .def(nb::init<const std::vector<Tensor>&, double>(), "weights"_a, "decay"_a = 0.999)
      .def(
          "update", [](MovingAverage& self) { without_gil([&] { self.update(); }); },
          "Moves the average towards the weights.")
      .def_prop_ro("values", &MovingAverage::values, "The averages.")
      .def("copy_to_weights", &MovingAverage::copy_to_weights, "Writes them over the weights.")
      .def("state_dict", &MovingAverage::state, "The averages by name, sharing memory.")
      .def("load_state_dict", &MovingAverage::load_state, "state"_a,
           "Copies values in; wants the same weights.");
  nb::class_<LastAverage>(module, "LastAverage", "The mean of the last k snapshots of weights.")
      .def(nb::init<const std::vector<Tensor>&, std::size_t>(), "weights"_a, "k"_a)
      .def(
          "update", [](LastAverage& self) { without_gil([&] { self.update(); }); },
          "Takes a snapshot.")
      .def_prop_ro("values", &LastAverage::values, "The means.")
      .def("copy_to_weights", &LastAverage::copy_to_weights, "Writes them over the weights.")
      .def("state_dict", &LastAverage::state, "The snapshots by name, sharing memory.")
      .def("load_state_dict", &LastAverage::load_state, "state"_a,
           "Copies values in; wants the same weights.");
}

void bind_schedule(nb::module_& module) {
  using optim::Decay;
  using optim::Schedule;
  nb::class_<Schedule>(
      module, "Schedule",
      "Learning rates over time: a linear rise over `warmup` steps to `peak`, then "
      "\"constant\", \"linear\" or \"cosine\" until step `total`.")
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
                   "decay is \"constant\", \"linear\" or \"cosine\", not \"" + decay + "\"");
            }
            if (how != Decay::constant && total <= warmup) {
              fail(ErrorKind::invalid_argument, "schedule",
                   "a " + decay + " decay ends at step `total`, which is " + std::to_string(total) +
                       ", not after the warm-up of " + std::to_string(warmup) + " steps");
            }
            new (self) Schedule{peak, warmup, total, how, floor};
          },
          "peak"_a, "total"_a = 0, "warmup"_a = 0, "decay"_a = "constant", "floor"_a = 0.0)
      .def("__call__", &Schedule::at, "step"_a, "The rate of step 0, 1, ….");
}

}  // namespace

void bind_optim(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_optim", "Optimizers.");
  bind_optimizer(module);
  bind_averages(module);
  bind_schedule(module);
}

}  // namespace causeway::python
