#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace causeway {

// Json::get<T>() converts any number, and undefined behaviour follows where a float is out of T's
// range. Throws Json::exception unless the value is an integer that T holds.
template <std::integral T, class Json>
T integer_from_json(const Json& json) {
  const bool fits =
      json.is_number_unsigned()
          ? std::in_range<T>(json.template get<std::uint64_t>())
          : json.is_number_integer() && std::in_range<T>(json.template get<std::int64_t>());
  if (!fits)
    throw Json::other_error::create(
        600, std::string("expected an integer, got ") + json.type_name(), &json);
  return json.template get<T>();
}

}  // namespace causeway
