// The script of all pages: values of charts on hover, tap and arrow keys; the gallery's filter and
// enlarged cards.
#pragma once

#include <string_view>

namespace causeway::report {

// A script element, which is well-formed XML.
std::string_view script_html();

}  // namespace causeway::report
