// Configuration values in JSON.
#include "causeway/core/config.h"
#include "causeway/core/count.h"
#include "causeway/core/error.h"
#include "causeway/core/nearest.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <utility>

namespace causeway {

namespace {

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class T>
void read_integer(const Json& json, T& value) {
  if (json.is_number_integer() || json.is_number_unsigned()) {
    const auto fits = [&](auto number) { return std::in_range<T>(number); };
    if (json.is_number_unsigned() ? fits(json.get<std::uint64_t>())
                                  : fits(json.get<std::int64_t>())) {
      value = json.get<T>();
      return;
    }
  }
  if (json.is_number_float()) {  // 1e3
    const double number = json.get<double>();
    if (number == std::floor(number) && std::fabs(number) < 9007199254740992.0 &&
        std::in_range<T>(static_cast<std::int64_t>(number))) {
      value = static_cast<T>(number);
      return;
    }
  }
  throw ValueExpected{std::is_unsigned_v<T> ? "an integer of 0 or more" : "an integer"};
}

template <class T>
void read_range(const Json& json, T& low, T& high) {
  T ends[2] = {low, high};
  std::size_t count = 0;
  const auto take = [&](const Json& part) {
    if (count == 2) throw ValueExpected{"a number or low:high"};
    value_from_json(part, ends[count++]);
  };
  if (json.is_array()) {
    for (const Json& part : json) take(part);
  } else if (json.is_string()) {
    for (const std::string& part : split(json.get<std::string>(), ':')) take(json_of_text(part));
  } else {
    take(json);
  }
  if (count == 0) throw ValueExpected{"a number or low:high"};
  low = ends[0];
  high = count == 1 ? ends[0] : ends[1];
}

}  // namespace

Json json_of_text(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  std::int64_t integer = 0;
  if (parse_number(text, integer)) return integer;
  std::uint64_t large = 0;
  if (parse_number(text, large)) return large;
  double number = 0;
  if (parse_number(text, number) && std::isfinite(number)) return number;
  if (const auto count = parse_count(text)) return *count;
  return std::string(text);
}

Json value_to_json(bool value) { return value; }
Json value_to_json(int value) { return value; }
Json value_to_json(std::int64_t value) { return value; }
Json value_to_json(std::uint64_t value) { return value; }
Json value_to_json(double value) { return value; }
Json value_to_json(const std::string& value) { return value; }
Json value_to_json(DType value) { return std::string(to_string(value)); }
Json value_to_json(const std::vector<double>& value) { return value; }
Json value_to_json(const std::vector<std::string>& value) { return value; }

void value_from_json(const Json& json, bool& value) {
  if (!json.is_boolean()) throw ValueExpected{"true or false"};
  value = json.get<bool>();
}

void value_from_json(const Json& json, int& value) { read_integer(json, value); }
void value_from_json(const Json& json, std::int64_t& value) { read_integer(json, value); }
void value_from_json(const Json& json, std::uint64_t& value) { read_integer(json, value); }

void value_from_json(const Json& json, double& value) {
  if (!json.is_number() || !std::isfinite(json.get<double>())) {
    throw ValueExpected{"a number"};
  }
  value = json.get<double>();
}

void value_from_json(const Json& json, std::string& value) {
  if (!json.is_string() && !json.is_number()) throw ValueExpected{"text"};
  value = json.is_string() ? json.get<std::string>() : json.dump();  // TOML's reader drops quotes
}

void value_from_json(const Json& json, DType& value) {
  if (!json.is_string()) throw ValueExpected{"a type, such as \"f32\""};
  try {
    value = parse_dtype(json.get<std::string>());
  } catch (const Error&) {
    throw ValueExpected{"a type, such as \"f32\" or \"bf16\""};
  }
}

void value_from_json(const Json& json, std::vector<double>& value) {
  std::vector<double> made;
  const auto take = [&](const Json& part) { value_from_json(part, made.emplace_back()); };
  if (json.is_array()) {
    for (const Json& part : json) take(part);
  } else if (json.is_string()) {
    for (const std::string& part : split(json.get<std::string>(), ',')) take(json_of_text(part));
  } else {
    take(json);
  }
  value = std::move(made);
}

void value_from_json(const Json& json, std::vector<std::string>& value) {
  std::vector<std::string> made;
  if (json.is_array()) {
    for (const Json& part : json) value_from_json(part, made.emplace_back());
  } else {
    value_from_json(json, made.emplace_back());
  }
  value = std::move(made);
}

void range_from_json(const Json& json, double& low, double& high) { read_range(json, low, high); }
void range_from_json(const Json& json, int& low, int& high) { read_range(json, low, high); }
Json range_to_json(double low, double high) { return Json::array({low, high}); }
Json range_to_json(int low, int high) { return Json::array({low, high}); }

std::size_t name_from_json(const Json& json, const std::vector<std::string>& names) {
  const std::string given = json.is_string() ? json.get<std::string>() : "";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (json.is_string() && names[i] == given) return i;
  }
  const std::string nearest = nearest_name(given, names);
  throw ValueExpected{fmt::format("{}{}", fmt::join(names, ", "),
                                  nearest.empty() ? "" : " (did you mean " + nearest + "?)")};
}

std::vector<std::string> names_from_json(const Json& json, const std::vector<std::string>& names) {
  std::vector<std::string> made;
  const auto take = [&](const Json& part) {
    if (!part.is_string()) throw ValueExpected{fmt::format("{}", fmt::join(names, ", "))};
    for (std::string name : split(part.get<std::string>(), ',')) {
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      made.push_back(names[name_from_json(name, names)]);
    }
  };
  if (json.is_array()) {
    for (const Json& part : json) take(part);
  } else {
    take(json);
  }
  return made;
}

Json name_to_json(const std::string& name) { return name; }

std::string choice_type(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "|"));
}

}  // namespace causeway
