#include "causeway/core/config.h"

#include "causeway/core/count.h"
#include "causeway/core/error.h"
#include "causeway/core/nearest.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace causeway {
namespace {

enum class Shape { round, square };

struct Inner {
  std::int64_t width = 8;
  bool flag = false;
};

struct Settings {
  std::int64_t batch = 4;
  double rate = 0.5;
  Shape shape = Shape::square;
  double low = 0.1, high = 0.9;
  std::string name = "x";
  std::vector<std::string> files;
  std::vector<std::string> steps = {"walk"};
  std::uint64_t seed = 0;
  Inner inner;
};

const ConfigDescription<Settings>& description() {
  static const auto made = [] {
    static const auto inner = [] {
      ConfigDescription<Inner> d("inner");
      d.add("width", &Inner::width, "Embedding width").between(1, 64);
      d.add("flag", &Inner::flag, "A switch");
      return d;
    }();
    ConfigDescription<Settings> d("test", 2);
    d.add("batch", &Settings::batch, "Datasets per step").at_least(1);
    d.add("rate", &Settings::rate, "Learning rate").above(0);
    d.choice("shape", &Settings::shape, {"round", "square"}, "Shape");
    d.range("share", &Settings::low, &Settings::high, "Share").between(0, 1);
    d.add("name", &Settings::name, "Name");
    d.add("files", &Settings::files, "Files");
    d.choices("steps", &Settings::steps, {"walk", "run", "jump"}, "Steps");
    d.add("seed", &Settings::seed, "Random seed");
    d.section("inner", &Settings::inner, inner);
    d.on_older([](int, Json& json) {
      if (json.contains("size")) {
        json["batch"] = json["size"];
        json.erase("size");
      }
    });
    return d;
  }();
  return made;
}

std::string error_of(const char* json) {
  Settings settings;
  try {
    description().read(&settings, Json::parse(json));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Config, WritesEveryFieldAndReadsItBack) {
  Settings settings;
  settings.batch = 7;
  settings.shape = Shape::round;
  settings.inner.width = 16;
  settings.seed = 18446744073709551615u;
  settings.files = {"a.csv", "b.csv"};
  const Json json = description().to_json(&settings);
  EXPECT_EQ(json.dump(),
            R"({"version":2,"batch":7,"rate":0.5,"shape":"round","share":[0.1,0.9],"name":"x",)"
            R"("files":["a.csv","b.csv"],"steps":["walk"],"seed":18446744073709551615,)"
            R"("inner":{"width":16,"flag":false}})");
  Settings read;
  description().read(&read, json);
  EXPECT_EQ(description().to_json(&read), json);
}

TEST(Config, MissingKeysKeepTheirValues) {
  Settings settings;
  description().read(&settings, Json::parse(R"({"inner": {"flag": true}, "rate": null})"));
  EXPECT_EQ(settings.batch, 4);
  EXPECT_EQ(settings.rate, 0.5);
  EXPECT_EQ(settings.inner.width, 8);
  EXPECT_TRUE(settings.inner.flag);
}

TEST(Config, FieldsOfSectionsMayBeFlat) {
  Settings settings;
  description().read(&settings, Json::parse(R"({"width": 32, "batch": 2})"));
  EXPECT_EQ(settings.inner.width, 32);
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of(R"({"bacth": 3})"), "[test] unknown setting \"bacth\"; did you mean batch?");
  EXPECT_EQ(error_of(R"({"inner": {"widht": 3}})"),
            "[test] unknown setting \"inner.widht\"; did you mean inner.width?");
  EXPECT_EQ(
      error_of(R"({"qqqqqqqq": 3})"),
      "[test] unknown setting \"qqqqqqqq\"; expected one of: batch, rate, shape, share, name, "
      "files, steps, seed, width, flag");
}

TEST(Config, ValuesAreChecked) {
  EXPECT_EQ(error_of(R"({"batch": 0})"), "[test] batch: expected 1 or more, got 0");
  EXPECT_EQ(error_of(R"({"batch": 1.5})"), "[test] batch: expected an integer, got 1.5");
  EXPECT_EQ(error_of(R"({"batch": "4"})"), "[test] batch: expected an integer, got \"4\"");
  EXPECT_EQ(error_of(R"({"rate": 0})"), "[test] rate: expected a number above 0, got 0");
  EXPECT_EQ(error_of(R"({"seed": -1})"), "[test] seed: expected an integer of 0 or more, got -1");
  EXPECT_EQ(error_of(R"({"shape": "sqare"})"),
            "[test] shape: expected round, square (did you mean square?), got \"sqare\"");
  EXPECT_EQ(error_of(R"({"shape": 1})"), "[test] shape: expected round, square, got 1");
  EXPECT_EQ(error_of(R"({"share": [0.5, 2]})"), "[test] share: expected 0 to 1, got [0.5,2]");
  EXPECT_EQ(error_of(R"({"inner": {"width": 96.5}})"),
            "[test] inner.width: expected an integer, got 96.5");
  EXPECT_EQ(error_of(R"({"inner": {"flag": 1}})"),
            "[test] inner.flag: expected true or false, got 1");
  EXPECT_EQ(error_of("[]"), "[test] expected a JSON object of settings");
}

TEST(Config, ListsOfChoicesMayHaveCommas) {
  using Names = std::vector<std::string>;
  const auto steps = [](const Json& given) {
    Settings settings;
    description().read(&settings, {{"steps", given}});
    return settings.steps;
  };
  EXPECT_EQ(steps({"run", "walk"}), (Names{"run", "walk"}));
  EXPECT_EQ(steps("run,walk"), (Names{"run", "walk"}));
  EXPECT_EQ(steps("run, jump"), (Names{"run", "jump"}));
  EXPECT_EQ(steps({"run,walk", "jump"}), (Names{"run", "walk", "jump"}));
  EXPECT_EQ(steps("jump"), Names{"jump"});
  EXPECT_EQ(steps(Json::array()), Names{});
  EXPECT_EQ(error_of(R"({"steps": "run,jmp"})"),
            "[test] steps: expected walk, run, jump (did you mean jump?), got \"run,jmp\"");
  EXPECT_EQ(error_of(R"({"steps": ["run,"]})"),
            "[test] steps: expected walk, run, jump, got [\"run,\"]");
  EXPECT_EQ(error_of(R"({"steps": [3]})"), "[test] steps: expected walk, run, jump, got [3]");
  // Names of files are not split.
  Settings settings;
  description().read(&settings, {{"files", "a,b.csv"}});
  EXPECT_EQ(settings.files, Names{"a,b.csv"});
  const ConfigField& field = description().at("steps");
  EXPECT_EQ(field.type, "walk|run|jump,...");
  EXPECT_EQ(field.default_of(description().defaults()), "walk");
}

TEST(Config, ARejectedValueChangesNothing) {
  Settings settings;
  EXPECT_THROW(description().read(&settings, Json::parse(R"({"batch": -3})")), Error);
  EXPECT_EQ(settings.batch, 4);
}

TEST(Config, VersionsAreCheckedAndUpgraded) {
  Settings settings;
  description().read(&settings, Json::parse(R"({"version": 1, "size": 9})"));
  EXPECT_EQ(settings.batch, 9);
  EXPECT_NE(error_of(R"({"version": 2, "size": 9})"), "");
  EXPECT_EQ(error_of(R"({"version": 3})"),
            "[test] the configuration has version 3; this program reads 1 to 2");
  EXPECT_NE(error_of(R"({"version": "two"})"), "");
}

TEST(Config, TextOfOptions) {
  EXPECT_EQ(json_of_text("12"), Json(12));
  EXPECT_EQ(json_of_text("18446744073709551615"), Json(18446744073709551615u));
  EXPECT_EQ(json_of_text("1e-3"), Json(1e-3));
  EXPECT_EQ(json_of_text("true"), Json(true));
  EXPECT_EQ(json_of_text("12 apples"), Json("12 apples"));
  EXPECT_EQ(json_of_text(""), Json(""));
  double low = 0, high = 0;
  range_from_json(json_of_text("0.25:0.5"), low, high);
  EXPECT_EQ(low, 0.25);
  EXPECT_EQ(high, 0.5);
  range_from_json(json_of_text("0.75"), low, high);
  EXPECT_EQ(low, 0.75);
  EXPECT_EQ(high, 0.75);
  EXPECT_THROW(range_from_json(json_of_text("1:2:3"), low, high), ValueExpected);
}

TEST(Config, Differences) {
  Settings before, now;
  now.batch = 8;
  now.inner.width = 9;
  EXPECT_EQ(config_differences(description().to_json(&before), description().to_json(&now)),
            (std::vector<std::string>{"batch 8 instead of 4", "inner.width 9 instead of 8"}));
  // Settings that only one of them has.
  EXPECT_EQ(config_differences({{"mix", {1, 2}}, {"share", 0.5}}, {{"mix", {1}}, {"rows", 3}}),
            (std::vector<std::string>{"rows 3 instead of null", "mix.1 null instead of 2",
                                      "share null instead of 0.5"}));
}

Json from_file(const std::string& name, const std::string& text) {
  const data_test::Scratch scratch;
  data_test::put(scratch / name, text);
  return read_config_file("test", (scratch / name).string());
}

TEST(Config, Files) {
  const Json toml = from_file("a.toml",
                              "batch = 16\nname = \"rule set\"\nfiles = [\"a\", \"b\"]\n"
                              "steps = \"run,jump\"\n"
                              "[inner]\nwidth = 4\nflag = true\n");
  Settings settings;
  description().read(&settings, toml);
  EXPECT_EQ(settings.batch, 16);
  EXPECT_EQ(settings.name, "rule set");
  EXPECT_EQ(settings.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(settings.steps, (std::vector<std::string>{"run", "jump"}));
  EXPECT_EQ(settings.inner.width, 4);
  EXPECT_TRUE(settings.inner.flag);
  EXPECT_EQ(from_file("a.json", R"({"batch": 3})"), Json::parse(R"({"batch": 3})"));
  EXPECT_THROW(from_file("b.json", "{"), Error);
  EXPECT_THROW(from_file("b.json", "3"), Error);
  EXPECT_THROW(from_file("a.ini", "batch = 1"), Error);
  EXPECT_THROW(read_config_file("test", "/nonexistent/a.json"), Error);
}

TEST(Nearest, Names) {
  const std::vector<std::string> names = {"width", "heads", "hidden", "layers"};
  EXPECT_EQ(nearest_name("widht", names), "width");
  EXPECT_EQ(nearest_name("Layer", names), "layers");
  EXPECT_EQ(nearest_name("hiden", names), "hidden");
  EXPECT_EQ(nearest_name("zzzzz", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'w'), names), "");
}

TEST(Count, UnitsScaleNumbers) {
  EXPECT_EQ(parse_count("12"), 12);
  EXPECT_EQ(parse_count("-3"), -3);
  EXPECT_EQ(parse_count("10k"), 10000);
  EXPECT_EQ(parse_count("1.1K"), 1100);
  EXPECT_EQ(parse_count("1m"), 1000000);
  EXPECT_EQ(parse_count("2GB"), 2000000000);
  EXPECT_EQ(parse_count("4GiB"), std::int64_t{4} << 30);
  EXPECT_EQ(parse_count("0.5kib"), 512);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "k", "1.5", "1.2345k", "10q", "10kk", "10 k", "1e3k", "1kibi", "inf",
                           "nan", "9999999t", "0x1k", "9223372036854775808"}) {
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
  }
}

TEST(Count, OptionTextMayHaveUnits) {
  EXPECT_EQ(json_of_text("10k"), Json(10000));
  EXPECT_EQ(json_of_text("1e3"), Json(1000.0));
  EXPECT_EQ(json_of_text("10q"), Json("10q"));
}

}  // namespace
}  // namespace causeway
