// Options to and from JSON.
#pragma once

#include "causeway/tokenizer/options.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace causeway::tokenizer {

// Numbers that round-trip exactly; JSON has no infinities, so they are strings.
nlohmann::ordered_json json_number(double value);
double read_number(const nlohmann::ordered_json& json);
nlohmann::ordered_json json_numbers(const std::vector<double>& values);

nlohmann::ordered_json options_json(const Options& options);
// Throws invalid_argument or nlohmann exceptions for invalid input.
Options read_options(const nlohmann::ordered_json& json);

// Describes the first option in which two differ; empty if none does.
std::string options_difference(const Options& a, const Options& b);

}  // namespace causeway::tokenizer
