// Tables from Arrow's C data interface, as libraries offer it by __arrow_c_stream__,
// __arrow_c_array__ and __arrow_c_device_array__: without a copy where the types allow it.
#pragma once

#include "causeway/tokenizer/table.h"
#include "python/bind.h"

namespace causeway::python {

// Throws for what has none of the three methods, and for types that tokens are not made of.
tokenizer::Table table_from_arrow(nb::handle source);

}  // namespace causeway::python
