// Kernel text in Warp's dialect of Python: one kernel with the functions, structs and constants it
// uses.
#pragma once

#include "causeway/lang/ast.h"

#include <string>
#include <string_view>

namespace causeway::lang {

// A module that NVIDIA Warp loads. The text was accepted by compile(). Throws CompileError for
// builtins that Warp does not have, and Error for a kernel that the text does not have.
std::string emit_warp(const Source& source, std::string_view kernel);

}  // namespace causeway::lang
