// Tables from Python objects that have __arrow_c_stream__, __arrow_c_array__ or
// __arrow_c_device_array__.
#pragma once

#include "causeway/tables/table.h"
#include "python/bind.h"

namespace causeway::python {

// Throws for an object with none of the three methods, and for types that tables do not have.
tables::Table table_from_arrow(nb::handle source);

}  // namespace causeway::python
