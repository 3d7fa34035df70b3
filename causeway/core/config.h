// Configurations are described once: name, default, range and help of each field. The JSON form,
// the program's options and Python's keywords are generated from that description.
//
//   const ConfigDescription<Settings>& describe_settings() {
//     static const auto description = [] {
//       ConfigDescription<Settings> d("train");
//       d.add("batch", &Settings::batch, "Datasets per optimizer step").at_least(1);
//       d.choice("decay", &Settings::decay, {"constant", "linear"}, "Learning-rate schedule");
//       return d;
//     }();
//     return description;
//   }
#pragma once

#include "causeway/core/dtype.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace causeway {

using Json = nlohmann::ordered_json;

// Conversion of values to and from JSON. Reading is strict (96.5 is not an integer) and throws the
// expected form as text: "an integer". Lists and ranges can also be given as option text:
// "0,0.5,1", "0.3:0.9".
Json value_to_json(bool value);
Json value_to_json(int value);
Json value_to_json(std::int64_t value);
Json value_to_json(std::uint64_t value);
Json value_to_json(double value);
Json value_to_json(const std::string& value);
Json value_to_json(DType value);
Json value_to_json(const std::vector<double>& value);
Json value_to_json(const std::vector<std::string>& value);
void value_from_json(const Json& json, bool& value);
void value_from_json(const Json& json, int& value);
void value_from_json(const Json& json, std::int64_t& value);
void value_from_json(const Json& json, std::uint64_t& value);
void value_from_json(const Json& json, double& value);
void value_from_json(const Json& json, std::string& value);
void value_from_json(const Json& json, DType& value);
void value_from_json(const Json& json, std::vector<double>& value);
void value_from_json(const Json& json, std::vector<std::string>& value);
// Two numbers: [low, high], "low:high", or one for both.
void range_from_json(const Json& json, double& low, double& high);
void range_from_json(const Json& json, int& low, int& high);
Json range_to_json(double low, double high);
Json range_to_json(int low, int high);

// Thrown by value_from_json.
struct ValueExpected {
  std::string what;
};

// One setting of a configuration.
class ConfigField {
 public:
  std::string name;          // in JSON and Python
  std::string section;       // the JSON object that contains it; empty for the top level
  std::string help;          // a phrase without a full stop
  std::string type;          // format of a value: "N", "LOW:HIGH", "linear|cosine"
  std::string option;        // option of the program, without leading dashes
  std::string group;         // heading in --help
  std::string default_text;  // for computed defaults, such as "bf16 on a GPU, else f32"
  bool is_switch = false;    // --name and --no-name
  bool is_list = false;      // takes several arguments
  bool is_text = false;      // "5" stays text
  bool is_stored = true;     // part of the JSON
  bool is_option = true;     // an option of the program and a keyword in Python
  std::function<Json(const void* config)> get;
  std::function<void(void* config, const Json& value)> read;  // throws ValueExpected
  std::function<bool(const void* config)> applies;            // if false, left out of the JSON

  // Range checks; a value outside the range is an error.
  ConfigField& at_least(double least);
  ConfigField& above(double bound);
  ConfigField& between(double least, double most);
  ConfigField& written(std::string how) { return type = std::move(how), *this; }
  ConfigField& option_name(std::string text) { return option = std::move(text), *this; }
  ConfigField& under(std::string heading) { return group = std::move(heading), *this; }
  ConfigField& defaults_to(std::string text) { return default_text = std::move(text), *this; }
  // 0 means "no value" and is null in JSON.
  ConfigField& optional();
  ConfigField& json_only() { return is_option = false, *this; }
  ConfigField& option_only() { return is_stored = false, *this; }

  // Throws invalid_argument: [operation] name: expected …, got ….
  void set(std::string_view operation, void* config, const Json& value) const;
  // The default as --help shows it.
  std::string default_of(const void* defaults) const;
};

// A description without the type of its configuration.
class ConfigFields {
 public:
  // Error messages begin with "[operation]".
  ConfigFields(std::string operation, int version)
      : operation_(std::move(operation)), version_(version) {}

  const std::string& operation() const { return operation_; }
  const std::vector<ConfigField>& fields() const { return fields_; }
  // Finds a field by name, "width" or "model.width"; nullptr if there is none.
  const ConfigField* find(std::string_view name) const;
  // Finds a field by name; throws invalid_argument with the nearest name if there is none.
  const ConfigField& at(std::string_view name) const;

  // The stored fields in order, preceded by "version" unless it is 1.
  Json to_json(const void* config) const;
  // Sets the fields present in `json`, either inside their sections or flat. null is skipped. An
  // unknown key is an error that names the nearest one; a value out of range is an error that
  // states the expected range.
  void read(void* config, const Json& json) const;
  // Throws invalid_argument for the first field outside its range.
  void check(const void* config) const;
  // Registers a function that converts JSON written by an older version.
  void on_older(std::function<void(int version, Json& json)> upgrade) {
    upgrade_ = std::move(upgrade);
  }
  // A configuration with all defaults.
  const void* defaults() const { return defaults_.get(); }
  // A new, modifiable configuration with all defaults.
  std::shared_ptr<void> fresh() const { return make_(); }
  // All fields, for bindings: [{"name", "section", "help", "type", "default", …}, …].
  Json to_table() const;

 protected:
  ConfigField& append(std::string name, std::string help, std::string type);
  void append_section(const std::string& name, const ConfigFields& inner,
                      const std::function<void*(void*)>& member);

  std::string operation_;
  int version_;
  std::vector<ConfigField> fields_;
  std::function<void(int, Json&)> upgrade_;
  std::shared_ptr<const void> defaults_;
  std::function<std::shared_ptr<void>()> make_;
};

template <class T>
constexpr const char* value_type() {
  if constexpr (std::is_same_v<T, double>) return "X";
  if constexpr (std::is_same_v<T, std::string>) return "TEXT";
  if constexpr (std::is_same_v<T, DType>) return "f32|bf16|f16|f64";
  if constexpr (std::is_same_v<T, std::vector<double>>) return "X,X,...";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "TEXT...";
  return "N";
}

// The index of a JSON string in `names`; throws ValueExpected with all names and the nearest one.
std::size_t name_from_json(const Json& json, const std::vector<std::string>& names);
// A list of names that are in `names`: an array, or text with commas.
std::vector<std::string> names_from_json(const Json& json, const std::vector<std::string>& names);
Json name_to_json(const std::string& name);
// "linear|cosine".
std::string choice_type(const std::vector<std::string>& names);

template <class C>
class ConfigDescription : public ConfigFields {
 public:
  explicit ConfigDescription(std::string operation, int version = 1)
      : ConfigFields(std::move(operation), version) {
    make_ = [] { return std::shared_ptr<void>(std::make_shared<C>()); };
    defaults_ = make_();
  }

  // `reach` is a pointer to a member, or a function that returns a reference to the value.
  template <class Reach>
  ConfigField& add(std::string name, Reach reach, std::string help) {
    using T = std::remove_cvref_t<std::invoke_result_t<Reach, C&>>;
    ConfigField& field = append(std::move(name), std::move(help), value_type<T>());
    field.is_switch = std::is_same_v<T, bool>;
    field.is_list = std::is_same_v<T, std::vector<std::string>>;
    field.is_text = std::is_same_v<T, std::string> || field.is_list;
    field.get = [reach](const void* config) {
      return value_to_json(std::invoke(reach, of(config)));
    };
    field.read = [reach](void* config, const Json& json) {
      value_from_json(json, std::invoke(reach, of(config)));
    };
    return field;
  }

  // Two members as one field, "low:high".
  template <class T>
  ConfigField& range(std::string name, T C::*low, T C::*high, std::string help) {
    ConfigField& field = append(std::move(name), std::move(help), "LOW:HIGH");
    field.get = [=](const void* config) {
      return range_to_json(of(config).*low, of(config).*high);
    };
    field.read = [=](void* config, const Json& json) {
      range_from_json(json, of(config).*low, of(config).*high);
    };
    return field;
  }

  // An enumeration whose values, counted from 0, have these names, or a string that is one of them.
  template <class Reach>
  ConfigField& choice(std::string name, Reach reach, std::vector<std::string> names,
                      std::string help);

  // A list of these names. Text has commas between them.
  template <class Reach>
  ConfigField& choices(std::string name, Reach reach, std::vector<std::string> names,
                       std::string help) {
    ConfigField& field = add(std::move(name), reach, std::move(help));
    field.type = choice_type(names) + ",...";
    field.read = [=](void* config, const Json& json) {
      std::invoke(reach, of(config)) = names_from_json(json, names);
    };
    return field;
  }

  // A type with its own conversion functions.
  template <class T>
  ConfigField& custom(std::string name, T C::*member, std::string type, Json (*write)(const T&),
                      void (*parse)(const Json&, T&), std::string help) {
    ConfigField& field = append(std::move(name), std::move(help), std::move(type));
    field.get = [=](const void* config) { return write(of(config).*member); };
    field.read = [=](void* config, const Json& json) { parse(json, of(config).*member); };
    return field;
  }

  // A member that has its own description. With a name it becomes an object in the JSON, without
  // one its fields are merged into these.
  template <class S>
  void section(const std::string& name, S C::*member, const ConfigFields& inner) {
    append_section(name, inner, [member](void* config) -> void* { return &(of(config).*member); });
  }

  // Removes a field of a section, given as "section.name".
  void remove(std::string_view path) {
    std::erase_if(fields_, [&](const ConfigField& f) { return f.section + "." + f.name == path; });
  }

  // The field is stored only if the condition holds.
  void applies_if(std::string_view name, std::function<bool(const C&)> condition) {
    for (ConfigField& field : fields_) {
      if (field.name != name) continue;
      field.applies = [condition](const void* config) { return condition(of(config)); };
    }
  }

 private:
  // Also used for read-only access.
  static C& of(const void* config) { return *static_cast<C*>(const_cast<void*>(config)); }
};

template <class C>
template <class Reach>
ConfigField& ConfigDescription<C>::choice(std::string name, Reach reach,
                                          std::vector<std::string> names, std::string help) {
  using E = std::remove_cvref_t<std::invoke_result_t<Reach, C&>>;
  ConfigField& field = append(std::move(name), std::move(help), choice_type(names));
  field.get = [=](const void* config) {
    const E& value = std::invoke(reach, of(config));
    if constexpr (std::is_same_v<E, std::string>)
      return name_to_json(value);
    else
      return name_to_json(names[static_cast<std::size_t>(value)]);
  };
  field.read = [=](void* config, const Json& json) {
    const std::size_t at = name_from_json(json, names);
    if constexpr (std::is_same_v<E, std::string>)
      std::invoke(reach, of(config)) = names[at];
    else
      std::invoke(reach, of(config)) = static_cast<E>(at);
  };
  return field;
}

// The differences between two configurations: "batch 8 instead of 4", "model.width 32 instead of
// 16".
std::vector<std::string> config_differences(const Json& before, const Json& now);

// Option text as JSON: a number or boolean if it parses as one, else a string.
Json json_of_text(std::string_view text);

// Reads a .toml or .json file as one JSON object; throws io and format errors that begin with
// [operation].
Json read_config_file(std::string_view operation, const std::string& path);

}  // namespace causeway
