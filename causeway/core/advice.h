// Advice in messages, in the words of whoever reads them: options for the program, keywords for
// Python.
#pragma once

#include <string_view>

namespace causeway {

enum class FrontEnd { program, python };

// The program's until the Python module sets its own.
void set_front_end(FrontEnd front_end);

// The text for the present front end: advice("pass --device cpu", "pass device=\"cpu\"").
std::string_view advice(std::string_view program, std::string_view python);

}  // namespace causeway
