// The exception type of the project: a kind, a message that begins with the operation in brackets,
// the source location of the throw, and a chain of context.
#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causeway {

enum class ErrorKind {
  invalid_argument,
  shape_mismatch,
  out_of_memory,
  device,
  io,
  format,
  compile,
  distributed,
  interrupted,
  internal,
};

std::string_view to_string(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message,
        std::source_location where = std::source_location::current());

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const std::source_location& where() const noexcept { return where_; }
  const std::vector<std::string>& context() const noexcept { return context_; }

  // Adds context, innermost first; `what()` then ends in "; while <context>".
  void add_context(std::string context);

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::source_location where_;
  std::vector<std::string> context_;
  std::string text_;
};

// Throws Error(kind, "[operation] message").
[[noreturn]] void fail(ErrorKind kind, std::string_view operation, std::string_view message,
                       std::source_location where = std::source_location::current());

// Runs `body`; adds `context` to an Error that it throws.
template <class Body>
decltype(auto) with_context(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(std::string(context));
    throw;
  }
}

}  // namespace causeway
