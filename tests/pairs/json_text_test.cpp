// JSON text reads back as what was written.
#include "causeway/pairs/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace causeway::pairs {
namespace {

TEST(PairsJsonText, EscapesAreFoundAtEveryPlace) {
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (const char c :
           {'"', '\\', '\n', '\t', '\x01', '\x1f', ' ', '!', '#', '[', ']', '\x7f'}) {
        std::string value(length, 'x');
        value[at] = c;
        if (at + 3 < length) value[at + 3] = '"';
        JsonText json;
        json.string(value);
        EXPECT_EQ(nlohmann::json::parse(json.text()).get<std::string>(), value);
      }
    }
  }
  const std::string letters = "größer als π, … und 漢字";
  JsonText json;
  json.string(letters);
  EXPECT_EQ(json.text(), "\"" + letters + "\"");
}

TEST(PairsJsonText, NumbersAndMembers) {
  JsonText json;
  json.open('{').member("least", INT64_MIN).member("most", UINT64_MAX).member("half", 0.5);
  json.key("list").open('[').number(1).number(-2).null().boolean(true).close(']').close('}');
  EXPECT_EQ(json.text(),
            "{\"least\":-9223372036854775808,\"most\":18446744073709551615,\"half\":0.5,"
            "\"list\":[1,-2,null,true]}");
}

}  // namespace
}  // namespace causeway::pairs
