// Tables from the Arrow C data, stream and device interfaces, without a copy where the types allow
// it.
#pragma once

#include "causeway/tables/table.h"

#include <cstdint>

namespace causeway::tables {

// The structures of the Arrow C data, stream and device interfaces.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

struct ArrowDeviceArray {
  ArrowArray array;
  std::int64_t device_id;
  std::int32_t device_type;  // 1 CPU, 2 CUDA, 3 pinned host memory
  void* sync_event;          // a cudaEvent_t*, or null
  std::int64_t reserved[3];
};

// Each takes over what it is given, and releases it when the last column that uses it goes. Throws
// invalid_argument for types that are neither number, text, boolean, time nor dictionary.
Table import_arrow_stream(ArrowArrayStream* stream);
Table import_arrow_array(ArrowSchema* schema, ArrowArray* array);
Table import_arrow_device_array(ArrowSchema* schema, ArrowDeviceArray* array);

}  // namespace causeway::tables
