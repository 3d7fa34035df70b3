// Writes JSON text piece by piece. A record is written thousands of times a second; a tree of
// values in between would take longer than the generation of the program.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace causeway::pairs {

class JsonText {
 public:
  JsonText() = default;
  explicit JsonText(std::string before) : text_(std::move(before)) {}  // is continued

  JsonText& open(char bracket) {  // { or [
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonText& close(char bracket) {  // } or ]
    text_ += bracket;
    first_ = false;
    return *this;
  }
  JsonText& key(std::string_view name) {  // without characters that JSON escapes
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    first_ = true;
    return *this;
  }
  JsonText& string(std::string_view value);
  JsonText& null() { return raw("null"); }
  JsonText& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonText& number(double value);  // the shortest text that reads back as the value
  template <std::integral T>
  JsonText& number(T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return raw({digits, static_cast<std::size_t>(end - digits)});
  }

  template <class T>
  JsonText& member(std::string_view name, const T& value) {
    key(name);
    if constexpr (std::convertible_to<T, std::string_view>) {
      return string(value);
    } else {
      return number(value);
    }
  }

  std::string& text() { return text_; }

 private:
  JsonText& raw(std::string_view text) {
    separate();
    text_ += text;
    return *this;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace causeway::pairs
