// Translates causeway::Error to Python exceptions: one class per kind, which also derives from the
// matching builtin class.
#include "causeway/core/error.h"
#include "python/bind.h"

#include <exception>
#include <string>

namespace causeway::python {

namespace {

struct ErrorClass {
  ErrorKind kind;
  const char* name;
  PyObject** builtin;  // a second base, or none
  const char* doc;
};

const ErrorClass kClasses[] = {
    {ErrorKind::invalid_argument, "InvalidArgument", &PyExc_ValueError, "An argument is invalid."},
    {ErrorKind::shape_mismatch, "ShapeMismatch", &PyExc_ValueError, "Shapes do not match."},
    {ErrorKind::out_of_memory, "OutOfMemory", &PyExc_MemoryError,
     "A device is out of memory, or its memory limit is reached."},
    {ErrorKind::device, "DeviceError", nullptr,
     "A device is absent or failed, or tensors are on different devices."},
    {ErrorKind::io, "FileError", &PyExc_OSError, "A file could not be read or written."},
    {ErrorKind::format, "FormatError", &PyExc_ValueError,
     "A file is damaged or has another format."},
    {ErrorKind::compile, "CompileError", nullptr, "A kernel did not compile."},
    {ErrorKind::distributed, "DistributedError", nullptr, "Communication between ranks failed."},
    {ErrorKind::interrupted, "Interrupted", &PyExc_KeyboardInterrupt,
     "The computation was interrupted by Ctrl-C."},
    {ErrorKind::internal, "InternalError", nullptr, "A bug in the library."},
};

constexpr int kKinds = static_cast<int>(ErrorKind::internal) + 1;
PyObject* by_kind[kKinds];  // kept for the life of the process
PyObject* index_error = nullptr;

PyObject* make_class(nb::module_& module, const char* name, const char* doc, nb::object bases) {
  const std::string path = nb::cast<std::string>(module.attr("__name__")) + "." + name;
  PyObject* made = PyErr_NewExceptionWithDoc(path.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) nb::raise_python_error();
  module.attr(name) = nb::borrow(made);
  return made;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(by_kind[static_cast<int>(error.kind())], error.what());
  }
}

}  // namespace

void throw_index_error(const char* message) {
  PyErr_SetString(index_error, message);
  nb::raise_python_error();
}

void bind_errors(nb::module_& module) {
  const nb::object base =
      nb::borrow(make_class(module, "Error", "Base class of all errors of this library.",
                            nb::borrow(PyExc_RuntimeError)));
  for (const ErrorClass& entry : kClasses) {
    const nb::object bases =
        entry.builtin == nullptr ? base : nb::make_tuple(base, nb::handle(*entry.builtin));
    by_kind[static_cast<int>(entry.kind)] = make_class(module, entry.name, entry.doc, bases);
  }
  index_error = make_class(module, "InvalidIndex", "An index outside its axis.",
                           nb::make_tuple(nb::handle(by_kind[0]), nb::handle(PyExc_IndexError)));
  nb::register_exception_translator(translate);
}

}  // namespace causeway::python
