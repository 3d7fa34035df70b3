#include "causeway/core/config.h"

#include "causeway/core/error.h"
#include "causeway/core/nearest.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace causeway {

namespace {

std::string json_text(const Json& value) {
  if (value.is_string()) return shown(value.get<std::string>());
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80);
}

std::string number_text(double value) { return fmt::format("{}", value); }

ConfigField& check_range(ConfigField& field, std::function<bool(double)> holds,
                         const std::string& words) {
  const auto read = field.read;
  const auto get = field.get;
  field.read = [=](void* config, const Json& json) {
    const Json before = get(config);
    read(config, json);
    const Json now = get(config);
    const auto fits = [&](const Json& value) {
      return !value.is_number() || holds(value.get<double>());
    };
    const bool good = now.is_array() ? std::all_of(now.begin(), now.end(), fits) : fits(now);
    if (good) return;
    read(config, before);
    throw ValueExpected{words};
  };
  return field;
}

}  // namespace

ConfigField& ConfigField::at_least(double least) {
  return check_range(
      *this, [=](double value) { return value >= least; }, number_text(least) + " or more");
}

ConfigField& ConfigField::above(double bound) {
  return check_range(
      *this, [=](double value) { return value > bound && std::isfinite(value); },
      "a number above " + number_text(bound));
}

ConfigField& ConfigField::between(double least, double most) {
  return check_range(
      *this, [=](double value) { return value >= least && value <= most; },
      number_text(least) + " to " + number_text(most));
}

ConfigField& ConfigField::optional() {
  get = [inner = get](const void* config) {
    Json value = inner(config);
    return value == 0 ? Json() : value;
  };
  return *this;
}

void ConfigField::set(std::string_view operation, void* config, const Json& value) const {
  try {
    read(config, value);
  } catch (const ValueExpected& expected) {
    const std::string path = section.empty() ? name : section + "." + name;
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("{}: expected {}, got {}", path, expected.what, json_text(value)));
  }
}

std::string ConfigField::default_of(const void* defaults) const {
  if (!default_text.empty()) return default_text;
  const Json value = get(defaults);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  const char* between = type.starts_with("LOW") ? ":" : ",";
  for (const Json& item : value) {
    text +=
        (text.empty() ? "" : between) + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text;
}

ConfigField& ConfigFields::append(std::string name, std::string help, std::string type) {
  ConfigField field;
  field.option = name;
  std::replace(field.option.begin(), field.option.end(), '_', '-');
  field.name = std::move(name);
  field.help = std::move(help);
  field.type = std::move(type);
  return fields_.emplace_back(std::move(field));
}

void ConfigFields::append_section(const std::string& name, const ConfigFields& inner,
                                  const std::function<void*(void*)>& member) {
  for (ConfigField field : inner.fields()) {
    if (!name.empty()) field.section = name;
    field.get = [get = field.get, member](const void* config) {
      return get(member(const_cast<void*>(config)));
    };
    field.read = [read = field.read, member](void* config, const Json& json) {
      read(member(config), json);
    };
    if (field.applies) {
      field.applies = [applies = field.applies, member](const void* config) {
        return applies(member(const_cast<void*>(config)));
      };
    }
    fields_.push_back(std::move(field));
  }
}

const ConfigField* ConfigFields::find(std::string_view name) const {
  const std::size_t dot = name.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? name : name.substr(dot + 1);
  const ConfigField* in_a_section = nullptr;
  for (const ConfigField& field : fields_) {
    if (field.name != rest) continue;
    if (field.section == section) return &field;
    if (section.empty() && field.is_option && in_a_section == nullptr) in_a_section = &field;
  }
  return in_a_section;
}

const ConfigField& ConfigFields::at(std::string_view name) const {
  const ConfigField* found = find(name);
  if (found != nullptr) return *found;
  const bool dotted = name.find('.') != std::string_view::npos;
  std::vector<std::string> names;
  for (const ConfigField& field : fields_) {
    names.push_back(dotted && !field.section.empty() ? field.section + "." + field.name
                                                     : field.name);
  }
  const std::string nearest = nearest_name(name, names);
  const std::string advice = nearest.empty()
                                 ? fmt::format("expected one of: {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean {}?", nearest);
  fail(ErrorKind::invalid_argument, operation_,
       fmt::format("unknown setting {}; {}", shown(name), advice));
}

Json ConfigFields::to_json(const void* config) const {
  Json json = Json::object();
  if (version_ != 1) json["version"] = version_;
  for (const ConfigField& field : fields_) {
    if (!field.is_stored || (field.applies && !field.applies(config))) continue;
    Json& place = field.section.empty() ? json : json[field.section];
    place[field.name] = field.get(config);
  }
  return json;
}

void ConfigFields::read(void* config, const Json& given) const {
  if (!given.is_object()) {
    fail(ErrorKind::format, operation_, "expected a JSON object of settings");
  }
  Json json = given;
  int version = version_;
  if (const auto found = json.find("version"); found != json.end()) {
    if (!found->is_number_integer() || *found < 1 || *found > version_) {
      fail(ErrorKind::format, operation_,
           fmt::format("the configuration has version {}; this program reads 1 to {}",
                       json_text(*found), version_));
    }
    version = found->get<int>();
    json.erase("version");
  }
  if (upgrade_ && version < version_) upgrade_(version, json);
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;
    const bool is_section = value.is_object() &&
                            std::ranges::find(fields_, key, &ConfigField::section) != fields_.end();
    if (!is_section) {
      at(key).set(operation_, config, value);
      continue;
    }
    for (const auto& [name, inner] : value.items()) {
      if (!inner.is_null()) at(key + "." + name).set(operation_, config, inner);
    }
  }
}

void ConfigFields::check(const void* config) const { read(fresh().get(), to_json(config)); }

Json ConfigFields::to_table() const {
  Json table = Json::array();
  for (const ConfigField& field : fields_) {
    if (!field.is_option) continue;
    table.push_back({{"name", field.name},
                     {"section", field.section},
                     {"help", field.help},
                     {"type", field.type},
                     {"default", field.get(defaults())},
                     {"default_text", field.default_of(defaults())},
                     {"group", field.group}});
  }
  return table;
}

std::vector<std::string> config_differences(const Json& before, const Json& now) {
  const Json old = before.flatten();
  const Json fresh = now.flatten();
  std::vector<std::string> found;
  const auto compare = [&](const std::string& path) {
    const Json was = old.value(path, Json());
    const Json is = fresh.value(path, Json());
    if (was == is) return;
    std::string name = path.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    found.push_back(fmt::format("{} {} instead of {}", name, is.dump(), was.dump()));
  };
  for (const auto& [path, value] : fresh.items()) compare(path);
  for (const auto& [path, value] : old.items()) {
    if (!fresh.contains(path)) compare(path);
  }
  return found;
}

}  // namespace causeway
