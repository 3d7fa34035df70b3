#include "causeway/pairs/export.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::pairs {

std::string export_record(std::string_view text, const std::string& place, std::string_view style) {
  constexpr const char* kInstruction =
      "Translate this Python kernel to a standalone CUDA C++ kernel.";
  const Json record = Json::parse(text, nullptr, false);
  try {
    const std::string python = record.at("python_source");
    const std::string cuda = record.at("cuda_forward");
    Json json;
    if (style == "chat") {
      json["messages"] = {
          {{"role", "user"},
           {"content", fmt::format("{}\n\n```python\n{}```", kInstruction, python)}},
          {{"role", "assistant"}, {"content", fmt::format("```cuda\n{}```", cuda)}}};
    } else {
      json = {{"instruction", kInstruction}, {"input", python}, {"output", cuda}};
    }
    json["id"] = record.at("metadata").at("id");
    json["split"] = record.at("metadata").at("split");
    return json.dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::format,
                fmt::format("[pairs.export] {}: not a record of kernel pairs", place));
  }
}

}  // namespace causeway::pairs
