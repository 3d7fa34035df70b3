// `causeway info --licences`: the bill of materials.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace causeway::cli {

// Every library of other authors that is compiled in, linked, or opened at run time: its version,
// SPDX licence, and how it is used.
std::string licences_text();
nlohmann::ordered_json licences_json();

}  // namespace causeway::cli
