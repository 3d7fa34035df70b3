// The style sheet of all pages.
#pragma once

#include <string>

namespace causeway::report {

// Classes are coloured by .c0 to .c9 (strokes) and .f0 to .f9 (fills).
std::string style_sheet();

}  // namespace causeway::report
