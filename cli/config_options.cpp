#include "cli/config_options.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>

namespace causeway::cli {

namespace {

// The message of an error without "[operation] name: ".
std::string reason(const Error& error) {
  const std::string& text = error.message();
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// A value with shell quoting.
std::string shell_text(const ConfigField& field, const Json& value) {
  std::string text;
  if (value.is_array()) {
    const bool spaces = field.is_list && !field.type.ends_with(",...");
    const char* between = field.type.starts_with("LOW") ? ":" : spaces ? " " : ",";
    for (const Json& item : value) {
      text += text.empty() ? "" : between;
      text += item.is_string() ? item.get<std::string>() : item.dump();
    }
  } else {
    text = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return field.is_list ? text : shell_word(text);
}

}  // namespace

void ConfigOptions::take(const ConfigField& field, const Json& value) {
  const std::shared_ptr<void> scratch = fields_->fresh();
  try {
    field.set(fields_->operation(), scratch.get(), value);
  } catch (const Error& error) {
    throw CLI::ValidationError("--" + field.option, reason(error));
  }
  (*values_)[field.section.empty() ? field.name : field.section + "." + field.name] = value;
}

void ConfigOptions::add_field(CLI::App& command, const ConfigField& field, const void* defaults) {
  const std::string help = fmt::format("{} [{}]", field.help, field.default_of(defaults));
  const std::string name = "--" + field.option;
  CLI::Option* option = nullptr;
  if (field.is_switch) {
    option = command.add_flag_function(
        fmt::format("{},!--no-{}", name, field.option),
        [this, &field](std::int64_t count) { take(field, count > 0); }, help);
  } else if (field.is_list) {
    option = command.add_option_function<std::vector<std::string>>(
        name, [this, &field](const std::vector<std::string>& items) { take(field, items); }, help);
  } else {
    option = command.add_option_function<std::string>(
        name,
        [this, &field](const std::string& text) {
          take(field, field.is_text ? Json(text) : json_of_text(text));
        },
        help);
  }
  if (!field.is_switch) option->type_name(field.type);
  std::string group = field.group.empty() ? field.section : field.group;
  if (!group.empty()) {
    group[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(group[0])));
    option->group(group);
  }
}

void ConfigOptions::add_to(CLI::App& command, const ConfigFields& fields, const void* defaults) {
  fields_ = &fields;
  values_ = std::make_shared<Json>(Json::object());
  for (const ConfigField& field : fields.fields()) {
    if (!field.is_option) continue;
    add_field(command, field, defaults != nullptr ? defaults : fields.defaults());
  }
  command.add_option("--config", file_, "Settings from a .toml or .json file; options override it")
      ->type_name("FILE")
      ->group("Configuration");
  command.add_flag("--print-config", prints_, "Print the resolved configuration as JSON and exit")
      ->group("Configuration");
}

Json ConfigOptions::given() const {
  Json json = Json::object();
  if (!file_.empty()) json = read_config_file(fields_->operation(), file_);
  json.erase("version");
  for (const auto& [path, value] : values_->items()) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) {
      json[path] = value;
      continue;
    }
    const std::string name = path.substr(dot + 1);
    json.erase(name);  // the file may have it without a section
    json[path.substr(0, dot)][name] = value;
  }
  return json;
}

std::string option_text(const ConfigFields& fields, const void* config) {
  std::string text;
  for (const ConfigField& field : fields.fields()) {
    if (!field.is_option || (field.applies && !field.applies(config))) continue;
    const Json value = field.get(config);
    if (value == field.get(fields.defaults())) continue;
    if (!text.empty()) text += " ";
    if (field.is_switch) {
      text += (value.get<bool>() ? "--" : "--no-") + field.option;
    } else {
      text += "--" + field.option + " " + shell_text(field, value);
    }
  }
  return text;
}

}  // namespace causeway::cli
