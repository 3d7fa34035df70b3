// Datasets: the same bytes for any number of threads, after any interruption, and no edit
// unnoticed.
#include "causeway/pairs/dataset_json.h"

#include "causeway/core/error.h"
#include "causeway/pairs/export.h"
#include "causeway/pairs/record.h"
#include "causeway/pairs/stats.h"
#include "causeway/pairs/twins.h"
#include "causeway/pairs/verify_record.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace causeway::pairs {
namespace {

class PairsDataset : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("causeway-pairs-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Contents of the files that hold records, by relative path.
  static std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().filename().string().starts_with(".lock"))
        continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      std::stringstream text;
      text << stream.rdbuf();
      result[std::filesystem::relative(entry.path(), folder).string()] = text.str();
    }
    return result;
  }
  static std::vector<std::string> lines(const std::filesystem::path& path) {
    std::vector<std::string> result;
    read_records(path,
                 [&](std::string_view line, const std::string&) { result.emplace_back(line); });
    return result;
  }

  std::filesystem::path folder_;
};

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(PairsDataset, BytesDoNotDependOnThreads) {
  DatasetConfig config;
  config.count = 150;
  config.seed = 5;
  write_dataset(config, folder_ / "one", 1);
  write_dataset(config, folder_ / "three", 3);
  EXPECT_EQ(contents(folder_ / "one"), contents(folder_ / "three"));
  EXPECT_EQ(lines(folder_ / "one").size(), 150U);
}

TEST_F(PairsDataset, ResumesToTheSameBytes) {
  DatasetConfig config;
  config.count = 1200;
  config.verify = {"none"};
  write_dataset(config, folder_ / "whole", 2);
  struct Stop {};
  int calls = 0;
  EXPECT_THROW(write_dataset(config, folder_ / "parts", 2,
                             [&](const DatasetProgress&) {
                               if (++calls == 2) throw Stop();
                             }),
               Stop);
  // What a killed run wrote after its last note of progress.
  std::ofstream(folder_ / "parts/data/train-00000-of-00001.jsonl.zst", std::ios::app)
      << "half a frame";
  const DatasetResult result = write_dataset(config, folder_ / "parts", 2);
  EXPECT_GT(result.kept, 0);
  EXPECT_LT(result.kept, 1200);
  EXPECT_EQ(contents(folder_ / "parts"), contents(folder_ / "whole"));
  EXPECT_EQ(write_dataset(config, folder_ / "parts", 2).kept, 1200);  // nothing left to do
}

TEST_F(PairsDataset, ShardsShareNoStructure) {
  DatasetConfig config;
  config.count = 300;
  config.verify = {"none"};
  config.format = Format::json;
  std::set<std::string> structures;
  std::size_t records = 0;
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    config.shard = shard;
    write_dataset(config, folder_, 2);
  }
  for (const std::string& line : lines(folder_)) {
    const Json record = Json::parse(line);
    structures.insert(record["metadata"]["structure"]);
    ++records;
  }
  EXPECT_EQ(records, 300U);
  EXPECT_EQ(structures.size(), 300U);
}

TEST_F(PairsDataset, TheCardCountsTheRecordsOfAllShards) {
  DatasetConfig config;
  config.count = 1001;  // more than a shard has, for the size category
  config.verify = {"none"};
  const auto write = [&](const char* folder, const char* shard) {
    DatasetConfig part = config;
    part.shard = shard;
    write_dataset(part, folder_ / folder, 1);
  };
  const auto card = [&](const char* folder) { return contents(folder_ / folder).at("README.md"); };
  for (const char* shard : {"0/3", "1/3", "2/3"}) write("forward", shard);
  const std::string first = [&] {
    write("backward", "2/3");
    return card("backward");
  }();
  for (const char* shard : {"1/3", "0/3"}) write("backward", shard);
  EXPECT_EQ(contents(folder_ / "forward"), contents(folder_ / "backward"));
  EXPECT_NE(first, card("backward"));
  {
    std::vector<std::jthread> shards;
    for (const char* shard : {"0/3", "1/3", "2/3"})
      shards.emplace_back([&, shard] { write("together", shard); });
  }
  EXPECT_EQ(contents(folder_ / "forward"), contents(folder_ / "together"));

  std::map<std::string, std::map<std::string, int>> counts;
  for (const std::string& line : lines(folder_ / "forward")) {
    const Json record = Json::parse(line);
    ++counts["category"][record["metadata"]["category"]];
    ++counts["split"][record["metadata"]["split"]];
  }
  for (const auto& [kind, of_kind] : counts) {
    for (const auto& [name, count] : of_kind) {
      const std::string row = "| " + name + " | " + std::to_string(count) + " |";
      EXPECT_NE(card("forward").find(row), std::string::npos) << row;
    }
  }
  EXPECT_NE(card("forward").find("- 1K<n<10K"), std::string::npos);
  EXPECT_NE(first.find("- n<1K"), std::string::npos);
}

TEST_F(PairsDataset, ShardsOfOneFolderHaveTheSameSettings) {
  DatasetConfig config;
  config.count = 20;
  config.verify = {"none"};
  config.shard = "0/2";
  write_dataset(config, folder_, 1);
  const auto refused = [&](const DatasetConfig& other) {
    return message_of([&] {
             write_dataset(other, folder_, 1);
           }).find("holds a dataset with other settings") != std::string::npos;
  };
  DatasetConfig other = config;
  other.shard = "1/2";
  other.seed = 1;
  EXPECT_TRUE(refused(other));
  other.seed = config.seed;
  other.shard = "1/3";
  EXPECT_TRUE(refused(other));
  other.shard = "1/2";
  EXPECT_FALSE(refused(other));
}

TEST_F(PairsDataset, EveryRecordVerifiesAndEditsAreNoticed) {
  DatasetConfig config;
  config.count = 60;
  config.compress = false;
  write_dataset(config, folder_, 2);
  const std::vector<std::string> records = lines(folder_);
  ASSERT_EQ(records.size(), 60U);
  for (const std::string& record : records) EXPECT_EQ(verify_record(record).problem, "");

  const auto edited = [&](const std::function<void(Json&)>& edit) {
    Json record = Json::parse(records[7]);
    edit(record);
    return verify_record(record.dump()).problem;
  };
  const auto edit_text = [](Json& record, const char* name) {
    std::string text = record[name];
    text[text.size() / 2] ^= 1;
    record[name] = text;
  };
  EXPECT_EQ(edited([&](Json& r) { edit_text(r, "cuda_forward"); }),
            "\"cuda_forward\" is not what the Python text compiles to");
  EXPECT_EQ(edited([&](Json& r) { edit_text(r, "cpp_forward"); }),
            "\"cpp_forward\" is not what the Python text compiles to");
  EXPECT_EQ(edited([&](Json& r) { edit_text(r, "ir"); }),
            "\"ir\" is not what the Python text compiles to");
  EXPECT_EQ(edited([&](Json& r) { r["metadata"]["structure"] = "0"; }),
            "\"structure\" is another program's");
  EXPECT_EQ(edited([&](Json& r) { r["inputs"][0]["seed"] = 1; }),
            "the results on the input set usual have another hash");
  EXPECT_EQ(edited([&](Json& r) { r["inputs"][2]["output_hash"] = "0"; }),
            "the results on the input set edges have another hash");
  EXPECT_EQ(edited([&](Json& r) { r.erase("inputs"); }), "\"inputs\" is not a list");
  EXPECT_EQ(edited([&](Json& r) { r["metadata"]["schema"] = 9; }),
            "schema 9 is not 3, which this version reads");
  EXPECT_NE(edited([&](Json& r) { r["inputs"][0]["parameters"].erase(0); }), "");
  EXPECT_NE(edited([&](Json& r) {
              r["inputs"][0]["parameters"][0]["shape"] = {1 << 19, 1 << 19};
            }),
            "");
  EXPECT_NE(edited([&](Json& r) { r["python_source"] = "def broken("; }), "");
  EXPECT_NE(edited([&](Json& r) { r["metadata"] = "x"; }), "");
  EXPECT_EQ(verify_record("{\"half").problem, "not valid JSON");
}

TEST_F(PairsDataset, TwinsAreWrongInTheWayTheySay) {
  DatasetConfig config;
  config.count = 150;
  config.verify = {"run"};
  config.twins = 1;
  write_dataset(config, folder_, 2);
  std::map<std::string, int> bugs;
  for (const std::string& line : lines(folder_)) {
    Json record = Json::parse(line);
    if (!record.contains("twin")) continue;
    const Json twin = record["twin"];
    ++bugs[twin["bug"]];
    EXPECT_NE(twin["caught_by"], "");
    EXPECT_NE(twin["diagnosis"], "");
    EXPECT_NE(twin["cuda_forward"], record["cuda_forward"]);
    // A record whose texts are the twin's fails verification, except where the mistake needs
    // surplus threads.
    record["python_source"] = twin["python_source"];
    record["cuda_forward"] = twin["cuda_forward"];
    EXPECT_NE(verify_record(record.dump()).problem, "");
  }
  for (int i = 0; i < kBugs; ++i)
    EXPECT_GT(bugs[std::string(name_of(static_cast<Bug>(i)))], 0) << i;
}

TEST_F(PairsDataset, StatisticsAndExports) {
  DatasetConfig config;
  config.count = 80;
  config.verify = {"run"};
  write_dataset(config, folder_, 2);
  Statistics statistics;
  read_records(folder_, [&](std::string_view line, const std::string& place) {
    statistics.add(line, place);
    const Json chat = Json::parse(export_record(line, place, "chat"));
    const Json record = Json::parse(line);
    EXPECT_EQ(chat["messages"][1]["content"],
              "```cuda\n" + record["cuda_forward"].get<std::string>() + "```");
    EXPECT_EQ(Json::parse(export_record(line, place, "instruct"))["input"],
              record["python_source"]);
  });
  const Json json = Json::parse(statistics.to_json());
  EXPECT_EQ(json["records"], 80);
  EXPECT_EQ(json["duplicates"], 0);
  EXPECT_EQ(json["categories"].size(), static_cast<std::size_t>(kCategories));
  EXPECT_NE(statistics.to_text().find("80 records, 80 structures"), std::string::npos);
  EXPECT_NE(message_of([&] { statistics.add("{}", "f:3"); }).find("f:3: not a record"),
            std::string::npos);
}

// A result that depends on the inputs by comparisons alone has no gradient.
TEST_F(PairsDataset, AnAdjointWithoutAGradientIsNotWritten) {
  const auto backward = [](const std::string& value) {
    Record record;
    record.program.kernel = "k";
    record.program.source =
        "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n    y[i] = " +
        value + "\n";
    Compiled compiled = compile_program(record.program);
    add_backward_text(compiled, record);
    EXPECT_EQ(compiled.adjoint >= 0, !record.cuda_backward.empty());
    return record.cuda_backward;
  };
  EXPECT_EQ(backward("wp.where(x[i] > 0.5, 1.0, 2.0)"), "");
  EXPECT_EQ(backward("float(int(x[i]))"), "");
  EXPECT_NE(backward("wp.where(x[i] > 0.5, x[i], 2.0)").find("adj_x[i] +="), std::string::npos);
}

TEST_F(PairsDataset, GradientsAreCheckedOrAbsent) {
  DatasetConfig config;
  config.count = 150;
  config.categories = {"arithmetic", "atomic"};
  write_dataset(config, folder_, 2);
  std::map<std::string, int> counts;
  Statistics statistics;
  read_records(folder_, [&](std::string_view line, const std::string& place) {
    statistics.add(line, place);
    const Json record = Json::parse(line);
    const Json& verification = record["metadata"]["verification"];
    const Json& passed = verification["passed"];
    const bool checked = std::ranges::find(passed, Json("adjoint")) != passed.end();
    EXPECT_EQ(verification["gradient"], checked ? "checked" : "none");
    EXPECT_EQ(record["cuda_backward"].is_string(), checked);
    ++counts[verification["gradient"]];
  });
  EXPECT_GT(counts["checked"], 75);
  EXPECT_GT(counts["none"], 0);
  EXPECT_EQ(Json::parse(statistics.to_json())["gradient"], Json(counts));
  EXPECT_NE(statistics.to_text().find("\ngradient\n  checked"), std::string::npos);
}

TEST_F(PairsDataset, BadInputIsNamed) {
  DatasetConfig config;
  config.count = 10;
  config.categories = {"arithmetics"};
  EXPECT_EQ(message_of([&] { write_dataset(config, folder_, 1); }).substr(0, 65),
            "[pairs] \"arithmetics\" is not a category; did you mean arithmetic?");
  config.categories = {};
  for (const char* shard : {"2/2", "-1/2", "0", "a/b", "0/0"}) {
    config.shard = shard;
    EXPECT_NE(
        message_of([&] { write_dataset(config, folder_, 1); }).find("expected I/N with 0 <= I < N"),
        std::string::npos)
        << shard;
  }
  config.shard = "0/1";
  config.lowest_level = 4;
  config.highest_level = 2;
  EXPECT_NE(message_of([&] { write_dataset(config, folder_, 1); }).find("level: expected LOW:HIGH"),
            std::string::npos);
  config.lowest_level = 1;
  config.highest_level = 5;
  config.verify = {"thorough"};
  EXPECT_NE(message_of([&] {
              write_dataset(config, folder_, 1);
            }).find("verify: \"thorough\" is not one of"),
            std::string::npos);
  config.verify = {"none"};
  write_dataset(config, folder_, 1);
  config.seed = 99;
  EXPECT_NE(message_of([&] {
              write_dataset(config, folder_, 1);
            }).find("holds a dataset with other settings"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              describe_dataset().read(&config, Json{{"count", 0}});
            }).find("count"),
            std::string::npos);
  std::ofstream(folder_ / "dataset.json") << "{";
  EXPECT_NE(message_of([&] { write_dataset(config, folder_, 1); }).find("is damaged"),
            std::string::npos);
}

}  // namespace
}  // namespace causeway::pairs
