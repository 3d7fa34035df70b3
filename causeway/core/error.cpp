#include "causeway/core/error.h"

namespace causeway {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument: return "invalid_argument";
    case ErrorKind::shape_mismatch: return "shape_mismatch";
    case ErrorKind::out_of_memory: return "out_of_memory";
    case ErrorKind::device: return "device";
    case ErrorKind::io: return "io";
    case ErrorKind::format: return "format";
    case ErrorKind::compile: return "compile";
    case ErrorKind::distributed: return "distributed";
    case ErrorKind::interrupted: return "interrupted";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string message, std::source_location where)
    : kind_(kind), message_(std::move(message)), where_(where), text_(message_) {}

void Error::add_context(std::string context) {
  text_ += "; while " + context;
  context_.push_back(std::move(context));
}

void fail(ErrorKind kind, std::string_view operation, std::string_view message,
          std::source_location where) {
  std::string text;
  text.reserve(operation.size() + message.size() + 3);
  text.append("[").append(operation).append("] ").append(message);
  throw Error(kind, std::move(text), where);
}

}  // namespace causeway
