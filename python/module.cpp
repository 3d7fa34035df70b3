// The extension module causeway._core.
#include "python/bind.h"

#include "causeway/core/advice.h"
#include "causeway/core/version.h"

NB_MODULE(_core, module) {
  using namespace causeway::python;
  using causeway::kVersion;
  module.doc() = "The compiled part of causeway.";
  // The tape may hold Python functions at exit, which nanobind would report as leaks.
  nb::set_leak_warnings(false);
  causeway::set_front_end(causeway::FrontEnd::python);
  module.attr("_version") = kVersion;
  bind_errors(module);
  bind_dtype(module);
  // The class comes before every function that names it in its signature.
  TensorClass tensor(
      module, "Tensor",
      "A strided tensor on a device. Views share memory with the original; operations "
      "run on the current stream of the tensor's device.");
  bind_runtime(module);
  bind_streams(module);
  bind_tensor(tensor);
  bind_subscript(module, tensor);
  bind_numpy(module, tensor);
  bind_dlpack(module, tensor);
  bind_create(module);
  bind_ops(module, tensor);
  bind_operators(tensor);
  bind_reduce(module, tensor);
  bind_indexing(module, tensor);
  bind_data(module);
  bind_autograd(module, tensor);
  bind_functional(module);
  bind_kernels(module);
  bind_nn(module);
  bind_tables(module);
  bind_models(module);
  bind_optim(module);
  bind_prior(module);
  bind_pairs(module);
  bind_pretrain(module);
  bind_text(module);
  bind_gpt_runs(module);
  bind_tokenizer(module);
  bind_partial_fit(module);
}
