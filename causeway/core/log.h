// One logger, to stderr. CAUSEWAY_LOG sets its level: debug, info, warn (the default), error, off.
#pragma once

#include <string_view>

namespace causeway::logger {

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

}  // namespace causeway::logger
