#include "causeway/data/text_template.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::data {

namespace {

[[noreturn]] void refuse(std::string_view pattern, std::string_view what) {
  fail(ErrorKind::invalid_argument, "text_template", fmt::format("{}: {}", shown(pattern), what));
}

}  // namespace

TextTemplate::TextTemplate(std::string_view pattern, std::string_view answer) {
  parts_.emplace_back();
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char letter = pattern[at];
    const char next = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    std::string& literal = parts_.back().literal;
    if (letter == '\\') {
      if (next != 'n' && next != 't' && next != '\\')
        refuse(pattern, "a backslash must be \\n, \\t or \\\\");
      literal += next == 'n' ? '\n' : (next == 't' ? '\t' : '\\');
      ++at;
    } else if (letter == '}' || (letter == '{' && next == '{')) {
      if (next != letter) refuse(pattern, "a brace that is not opened; write }} for a brace");
      literal += letter;
      ++at;
    } else if (letter == '{') {
      const std::size_t close = pattern.find('}', at);
      if (close == std::string_view::npos) refuse(pattern, "a brace that is not closed");
      const std::string_view name = pattern.substr(at + 1, close - at - 1);
      if (name.empty()) refuse(pattern, "a field without a name");
      if (name == answer && answer_ == kNone) answer_ = parts_.size() - 1;
      parts_.back().field = field_index(name);
      parts_.emplace_back();
      at = close;
    } else {
      literal += letter;
    }
  }
  if (fields_.empty()) refuse(pattern, "no field; write {name} for field \"name\"");
  if (!answer.empty() && answer_ == kNone)
    refuse(pattern, fmt::format("the answer {} is not one of its fields", shown(answer)));
}

std::size_t TextTemplate::field_index(std::string_view name) {
  const auto found = std::find(fields_.begin(), fields_.end(), name);
  if (found != fields_.end()) return static_cast<std::size_t>(found - fields_.begin());
  fields_.emplace_back(name);
  return fields_.size() - 1;
}

void TextTemplate::fill(std::span<const std::string> values, TextDocument& document) const {
  document.prompt.clear();
  document.text.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    document.text += parts_[i].literal;
    if (i == answer_) std::swap(document.prompt, document.text);
    if (parts_[i].field != kNone) document.text += values[parts_[i].field];
  }
}

}  // namespace causeway::data
