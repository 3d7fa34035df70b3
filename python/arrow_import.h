// Tables from Python objects that have __arrow_c_stream__, __arrow_c_array__ or
// __arrow_c_device_array__.
#pragma once

#include "causeway/tables/table.h"
#include "python/bind.h"

namespace causeway::python {

// Throws for an object without these methods, and for unsupported types.
tables::Table table_from_arrow(nb::handle source);

}  // namespace causeway::python
