// The extension module causeway._testing: internals for tests. Built with the tests, not installed.
#include "python/testing/prior_parts.h"

NB_MODULE(_testing, module) {
  using namespace causeway::python;
  module.doc() = "Internals of the library, for tests.";
  nb::set_leak_warnings(false);
  nb::module_::import_("causeway._core");  // for the classes of arguments
  nb::module_ parts = module.def_submodule("prior_parts", "Internals of priors.");
  bind_prior_parts(parts);
  bind_prior_draws(parts);
}
