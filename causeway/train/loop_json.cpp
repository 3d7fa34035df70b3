#include "causeway/train/loop_json.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/train/checkpoint.h"

#include <fmt/format.h>

namespace causeway::train {

Json bytes_to_json(const std::size_t& bytes) { return bytes; }

void bytes_from_json(const Json& json, std::size_t& bytes) {
  const ValueExpected expected{"a size such as 8GiB"};
  if (json.is_number_integer() && json >= 0) {
    bytes = json.get<std::size_t>();
    return;
  }
  if (!json.is_string()) throw expected;
  try {
    bytes = parse_bytes("memory", json.get<std::string>());
  } catch (const Error&) {
    throw expected;
  }
}

Json parse_settings(const char* operation, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, operation, fmt::format("not a configuration: {}", problem.what()));
  }
}

std::optional<std::string> settings_in(const std::filesystem::path& folder,
                                       const std::string& operation) {
  const std::filesystem::path file = folder / "config.json";
  std::error_code none;
  std::string problem = fmt::format("[{}] \"{}\" does not exist", operation, file.string());
  if (std::filesystem::exists(file, none)) {
    try {
      return read_config_file(operation, file.string()).dump();
    } catch (const Error& error) {
      problem = error.what();
    }
  } else if (CheckpointFolder(folder).list().empty()) {
    logger::warn(
        fmt::format("[{}] there is no \"{}\" and no checkpoint to resume from; this is a new run",
                    operation, file.string()));
    return std::nullopt;
  }
  logger::warn(fmt::format(
      "{}; taking the settings of the newest checkpoint, and defaults for when to log and save and "
      "for how many checkpoints to keep",
      problem));
  return std::nullopt;
}

bool has_setting(const Json& settings, const char* name) {
  const auto found = settings.find(name);
  return found != settings.end() && !found->is_null();
}

}  // namespace causeway::train
