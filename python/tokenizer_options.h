// A tokenizer's options from the dict that the Python class makes of its parameters.
#pragma once

#include "causeway/tokenizer/options.h"
#include "python/bind.h"

namespace causeway::python {

tokenizer::Options options_of(const nb::dict& given);

}  // namespace causeway::python
