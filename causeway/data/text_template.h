// The text of a record: literal text and fields, such as "{python_source}\n###
// CUDA\n{cuda_forward}".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

struct TextDocument {
  std::string prompt;  // empty unless the template has an answer
  std::string text;    // what follows the prompt
  std::string origin;  // "file" or "file, line 7", for messages
};

class TextTemplate {
 public:
  // {name} is field `name`; {{ and }} are braces; \n, \t and \\ are a line feed, a tab and a
  // backslash. `answer` is empty or a field: the text before it is the prompt. Throws
  // invalid_argument.
  TextTemplate(std::string_view pattern, std::string_view answer);

  const std::vector<std::string>& fields() const { return fields_; }
  // Sets prompt and text; `values` has an entry per field.
  void fill(std::span<const std::string> values, TextDocument& document) const;

 private:
  struct Part {
    std::string literal;        // before the field
    std::size_t field = kNone;  // none at the end
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t field_index(std::string_view name);

  std::vector<Part> parts_;
  std::vector<std::string> fields_;
  std::size_t answer_ = kNone;  // the part whose field begins the answer
};

}  // namespace causeway::data
