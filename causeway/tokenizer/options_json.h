// Options as JSON, every one of them, and back.
#pragma once

#include "causeway/tokenizer/options.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace causeway::tokenizer {

// Numbers that read back as the same bits; JSON has no infinities, so they are words.
nlohmann::ordered_json json_number(double value);
double read_number(const nlohmann::ordered_json& json);
nlohmann::ordered_json json_numbers(const std::vector<double>& values);

nlohmann::ordered_json options_json(const Options& options);
// Throws invalid_argument, or what nlohmann throws, for what options_json would not write.
Options read_options(const nlohmann::ordered_json& json);

// The first option in which two differ, as words; empty where none does.
std::string options_difference(const Options& a, const Options& b);

}  // namespace causeway::tokenizer
