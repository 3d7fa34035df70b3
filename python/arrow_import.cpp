#include "python/arrow_import.h"

#include "causeway/core/error.h"
#include "causeway/tables/arrow.h"

namespace causeway::python {

namespace {

using namespace causeway::tables;

template <class T>
T* open(nb::handle capsule, const char* name) {
  auto* pointer = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (pointer == nullptr) nb::raise_python_error();
  return pointer;
}

template <class T>
T* open_once(nb::handle capsule, const char* name) {
  T* pointer = open<T>(capsule, name);
  if (pointer->release == nullptr) {
    fail(ErrorKind::invalid_argument, "arrow", "the Arrow capsule was already consumed");
  }
  return pointer;
}

}  // namespace

Table table_from_arrow(nb::handle source) {
  if (nb::hasattr(source, "__arrow_c_stream__")) {
    const nb::object capsule = source.attr("__arrow_c_stream__")();
    return import_arrow_stream(open_once<ArrowArrayStream>(capsule, "arrow_array_stream"));
  }
  const bool on_device = nb::hasattr(source, "__arrow_c_device_array__");
  if (!on_device && !nb::hasattr(source, "__arrow_c_array__")) {
    throw nb::type_error("expected an object with __arrow_c_stream__ or __arrow_c_array__");
  }
  const nb::object pair =
      source.attr(on_device ? "__arrow_c_device_array__" : "__arrow_c_array__")();
  const nb::object first = pair[0];
  const nb::object second = pair[1];
  auto* schema = open_once<ArrowSchema>(first, "arrow_schema");
  if (on_device) {
    return import_arrow_device_array(schema, open<ArrowDeviceArray>(second, "arrow_device_array"));
  }
  return import_arrow_array(schema, open_once<ArrowArray>(second, "arrow_array"));
}

}  // namespace causeway::python
