// Advice in error messages, worded for the front end in use: options for the program, keywords for
// Python.
#pragma once

#include <string_view>

namespace causeway {

enum class FrontEnd { program, python };

// The default is `program`; the Python module sets `python`.
void set_front_end(FrontEnd front_end);

// Returns the text for the current front end: advice("pass --device cpu", "pass device=\"cpu\"").
std::string_view advice(std::string_view program, std::string_view python);

}  // namespace causeway
