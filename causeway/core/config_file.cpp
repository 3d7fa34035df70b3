// Configuration files: JSON, and TOML through CLI11's reader.
#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/mapped_file.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace causeway {

namespace {

[[noreturn]] void refuse(std::string_view operation, const std::string& path,
                         const std::string& why) {
  fail(ErrorKind::format, operation, fmt::format("\"{}\": {}", path, why));
}

Json from_toml(const std::string& text) {
  std::istringstream stream(text);
  Json json = Json::object();
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream)) {
    if (item.name == "++" || item.name == "--") continue;  // start or end of a section
    Json* place = &json;
    for (const std::string& parent : item.parents) place = &(*place)[parent];
    Json& value = (*place)[item.name];
    if (item.inputs.size() == 1) {
      value = json_of_text(item.inputs.front());
    } else {
      value = Json::array();
      for (const std::string& part : item.inputs) value.push_back(json_of_text(part));
    }
  }
  return json;
}

}  // namespace

Json read_config_file(std::string_view operation, const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending != ".toml" && ending != ".json") {
    refuse(operation, path, "expected a configuration file with the extension .toml or .json");
  }
  const MappedFile file(operation, path);
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  if (file.bytes().size() > kLargest) refuse(operation, path, "expected a file of at most 1 MiB");
  const std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  Json json;
  try {
    json = ending == ".json" ? Json::parse(text) : from_toml(text);
  } catch (const std::exception& problem) {
    refuse(operation, path, fmt::format("not valid {}: {}", ending.substr(1), problem.what()));
  }
  if (!json.is_object()) refuse(operation, path, "expected an object of settings");
  return json;
}

}  // namespace causeway
