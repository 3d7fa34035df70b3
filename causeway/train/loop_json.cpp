#include "causeway/train/loop_json.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::train {

Json parse_settings(const char* operation, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, operation, fmt::format("not a configuration: {}", problem.what()));
  }
}

bool has_setting(const Json& settings, const char* name) {
  const auto found = settings.find(name);
  return found != settings.end() && !found->is_null();
}

}  // namespace causeway::train
