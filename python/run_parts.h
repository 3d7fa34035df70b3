// Parts of a pre-training run that are Python objects. They may be called and copied without the
// GIL, but must be created and destroyed with it. A signal does not interrupt a call: it would
// raise an exception in the user's code. The run ends after the step.
#pragma once

#include "causeway/train/run_parts.h"
#include "python/bind.h"

namespace causeway::python {

// Held while a run calls Python.
class CallPython {
  const Interruptible off_{false};
  const nb::gil_scoped_acquire held_;
};

// tables(step) returns x, y and sizes, as models::Tables has them.
std::shared_ptr<train::TableSource> python_source(const nb::callable& tables);

// generate(seed, indices, n_classes, n_rows, n_features, device) returns x and y.
train::CustomFamily python_family(const std::string& name, double share,
                                  const nb::callable& generate);

// loss(x, y, sizes) returns a scalar.
std::shared_ptr<train::CustomModel> python_model(const nb::object& module,
                                                 const nb::callable& loss);

}  // namespace causeway::python
