// The string fields of a JSON object, without a tree of its other values.
#include "causeway/core/shown.h"
#include "causeway/data/document_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace causeway::data {

namespace {

using Json = nlohmann::json;

class FieldEvents final : public Json::json_sax_t {
 public:
  FieldEvents(const std::vector<std::string>& fields, std::vector<std::string>& values)
      : fields_(fields), values_(values), found_(fields.size(), false) {}

  std::string problem() const {
    if (!problem_.empty()) return problem_;
    const auto missing = std::find(found_.begin(), found_.end(), false);
    if (missing == found_.end()) return "";
    return fmt::format("no field {}", shown(fields_[index(missing)]));
  }

  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(std::int64_t) override { return scalar(); }
  bool number_unsigned(std::uint64_t) override { return scalar(); }
  bool number_float(double, const std::string&) override { return scalar(); }
  bool binary(Json::binary_t&) override { return scalar(); }
  bool string(std::string& value) override {
    if (depth_ == 1 && field_ < fields_.size()) {
      values_[field_] = std::move(value);
      found_[field_] = true;
      return true;
    }
    return depth_ > 0 || scalar();
  }
  bool start_object(std::size_t) override {
    if (!container()) return false;
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return scalar();
    if (!container()) return false;
    ++depth_;
    return true;
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& name) override {
    if (depth_ == 1)
      field_ = index(std::find(fields_.begin(), fields_.end(), name), fields_.begin());
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem_ = fmt::format("invalid JSON at byte {}", position);
    return false;
  }

 private:
  template <class At, class Begin>
  static std::size_t index(At at, Begin begin) {
    return static_cast<std::size_t>(at - begin);
  }
  std::size_t index(std::vector<bool>::const_iterator at) const {
    return index(at, found_.begin());
  }

  bool scalar() {
    if (depth_ == 0) {
      problem_ = "expected a JSON object";
      return false;
    }
    return container();
  }
  // A value that is no string: refused if it is a field of the template.
  bool container() {
    if (depth_ != 1 || field_ >= fields_.size()) return true;
    problem_ = fmt::format("field {} is no string", shown(fields_[field_]));
    return false;
  }
  bool leave() {
    --depth_;
    return true;
  }

  const std::vector<std::string>& fields_;
  std::vector<std::string>& values_;
  std::vector<bool> found_;
  std::string problem_;
  int depth_ = 0;
  std::size_t field_ = static_cast<std::size_t>(-1);  // of the last key
};

}  // namespace

std::string read_json_fields(std::string_view line, const std::vector<std::string>& fields,
                             std::vector<std::string>& values) {
  values.resize(fields.size());
  FieldEvents events(fields, values);
  Json::sax_parse(line, &events);
  return events.problem();
}

}  // namespace causeway::data
