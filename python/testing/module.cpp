// The module causeway._testing: parts of the library that only tests look at. It is built with the
// tests and not installed.
#include "python/testing/prior_parts.h"

NB_MODULE(_testing, module) {
  using namespace causeway::python;
  module.doc() = "Parts of the library, for its tests.";
  nb::set_leak_warnings(false);
  nb::module_::import_("causeway._core");  // it has the classes that functions here take
  nb::module_ parts = module.def_submodule("prior_parts", "The parts of priors.");
  bind_prior_parts(parts);
  bind_prior_draws(parts);
}
