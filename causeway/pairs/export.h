// Records as examples for supervised fine-tuning.
#pragma once

#include <string>
#include <string_view>

namespace causeway::pairs {

// One line of JSON. "instruct": {"instruction", "input", "output", "id", "split"}; "chat":
// {"messages": [{"role", "content"}, …], "id", "split"}. Throws a format error that names the
// place.
std::string export_record(std::string_view record, const std::string& place,
                          std::string_view style);

}  // namespace causeway::pairs
