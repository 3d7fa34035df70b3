// From lines of emitted text back to the Python lines they come from.
#pragma once

#include "causeway/lang/emit/emit.h"

#include <string>
#include <string_view>

namespace causeway::jit {

// The line of the kernel text that a line of the emitted text comes from, both from 1; 0 if none.
int source_line(const lang::Module& module, const lang::Emitted& emitted, int line);

// The log of a compiler with "k.py:3: " before every line that names a line of the emitted text as
// "(12): error" or ":12:5: error".
std::string with_python_lines(const lang::Module& module, const lang::Emitted& emitted,
                              std::string_view log);

}  // namespace causeway::jit
