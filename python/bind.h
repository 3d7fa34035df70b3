// Shared declarations of the Python module. Each bind_x.cpp binds one module, including the methods
// of Tensor that come from it.
#pragma once

#include "causeway/core/error.h"
#include "causeway/core/interrupt.h"
#include "causeway/tensor/tensor.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <utility>

namespace causeway::python {

namespace nb = nanobind;
using namespace nb::literals;

using TensorClass = nb::class_<Tensor>;

void bind_errors(nb::module_& module);
void bind_runtime(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_dtype(nb::module_& module);
void bind_tensor(TensorClass& tensor);
void bind_subscript(nb::module_& module, TensorClass& tensor);
void bind_numpy(nb::module_& module, TensorClass& tensor);
void bind_dlpack(nb::module_& module, TensorClass& tensor);
void bind_create(nb::module_& module);
void bind_ops(nb::module_& module, TensorClass& tensor);
void bind_operators(TensorClass& tensor);
void bind_reduce(nb::module_& module, TensorClass& tensor);
void bind_indexing(nb::module_& module, TensorClass& tensor);
void bind_data(nb::module_& module);
void bind_autograd(nb::module_& module, TensorClass& tensor);
void bind_functional(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_nn(nb::module_& module);
void bind_models(nb::module_& module);
void bind_gpt(nb::module_& models);
void bind_tables(nb::module_& module);
void bind_estimators(nb::module_& module);
void bind_optim(nb::module_& module);
void bind_prior(nb::module_& module);
void bind_pairs(nb::module_& module);
void bind_pretrain(nb::module_& module);
void bind_text(nb::module_& module);
void bind_gpt_runs(nb::module_& module);
void bind_tokenizer(nb::module_& module);
void bind_partial_fit(nb::module_& module);

// During its lifetime Ctrl-C also interrupts the library's computations. No effect in threads that
// do not receive the signal, or if Python ignores it.
class CatchSignal {
 public:
  CatchSignal();
  ~CatchSignal();
  CatchSignal(const CatchSignal&) = delete;
  CatchSignal& operator=(const CatchSignal&) = delete;

 private:
  bool caught_ = false;
};

// Runs `body`, which must not use Python objects, without the GIL.
template <class Body>
auto without_gil(Body&& body) {
  const nb::gil_scoped_release released;
  return std::forward<Body>(body)();
}

// The same for long work: Ctrl-C interrupts it and raises KeyboardInterrupt.
template <class Body>
auto interruptible(Body&& body) {
  const CatchSignal caught;
  try {
    const nb::gil_scoped_release released;
    const Interruptible on;
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted && PyErr_CheckSignals() != 0) {
      nb::raise_python_error();
    }
    throw;
  }
}

// Throws if an in-place operation would overwrite a tracked tensor.
void require_untracked(const char* operation, const Tensor& x);
// Throws if an in-place operation would write a tracked value into an untracked tensor.
void require_untracked_source(const char* operation, const Tensor& source);

// Throws InvalidIndex, which is an IndexError.
[[noreturn]] void throw_index_error(const char* message);

// A tensor that shares a NumPy array's memory if possible, else a copy.
Tensor from_array(nb::handle array);
// A tensor that shares the memory of an object with __dlpack__, or of a DLPack capsule.
Tensor from_dlpack(nb::handle source);
// A tensor that shares the memory of an object with __cuda_array_interface__.
Tensor from_cuda_array(nb::handle source);
// Any of these, or a copy of nested lists and numbers. Python floats become f32, unless `converted`
// to another dtype later.
Tensor as_tensor(nb::handle source, bool converted = false);

// Keeps a Python object alive; can be dropped without the GIL.
std::shared_ptr<void> keep_alive(nb::object object);

}  // namespace causeway::python
