// Damaged checkpoints: each kind is found, named, and passed over for the one before it.
#include "causeway/data/sha256.h"
#include "tests/train/snapshots.h"

#include <nlohmann/json.hpp>

#include <functional>

namespace causeway::train_test {
namespace {

using Damage = std::function<void(const std::filesystem::path& folder)>;

void cut(const std::filesystem::path& path, std::size_t size) {
  put(path, contents(path).substr(0, size));
}

// Does it to the newer of two checkpoints: it is named with the reason, and the older one loaded.
void expect_passed_over(const std::string& reason, const Damage& damage) {
  SCOPED_TRACE(reason);
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  folder.save(snapshot_of(1));
  const CheckpointInfo newer = folder.save(snapshot_of(2));
  damage(newer.path);
  testing::internal::CaptureStderr();
  const std::optional<Snapshot> found = folder.load_newest();
  const std::string warning = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 1);
  EXPECT_TRUE(is_consistent(*found));
  EXPECT_NE(warning.find(reason), std::string::npos) << warning;
  EXPECT_NE(warning.find("step-00000002"), std::string::npos) << warning;
  EXPECT_NE(warning.find("the checkpoint of step 2 is passed over"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("step-00000001"), std::string::npos) << warning;
  EXPECT_NE(failure([&] { folder.load(2); }).find(reason), std::string::npos);
}

// What a later causeway would write: everything right but the number of the format.
void make_newer(const std::filesystem::path& path) {
  auto json = nlohmann::ordered_json::parse(contents(path));
  json["format"] = 2;
  json["causeway"] = "9.0.0";
  json.erase("sha256");
  put(path, json.dump());
}

TEST(CheckpointDamage, EachKindIsNamedAndPassedOver) {
  const std::string model = "model.safetensors";
  const std::string manifest = "manifest.json";
  expect_passed_over("model.safetensors\" is damaged: it is cut short and has 50 bytes instead of",
                     [&](const auto& folder) { cut(folder / model, 50); });
  expect_passed_over("model.safetensors\" is damaged: it is too long", [&](const auto& folder) {
    put(folder / model, contents(folder / model) + "x");
  });
  expect_passed_over("model.safetensors\" is damaged: its bytes changed",
                     [&](const auto& folder) { flip(folder / model, 100, 3); });
  expect_passed_over("cannot read", [&](const auto& folder) {
    std::filesystem::remove(folder / "optimizer.safetensors");
  });
  expect_passed_over("optimizer.safetensors\": No such file", [&](const auto& folder) {
    std::filesystem::remove(folder / "optimizer.safetensors");
  });
  expect_passed_over("manifest.json\": No such file",
                     [&](const auto& folder) { std::filesystem::remove(folder / manifest); });
  expect_passed_over("manifest.json\" is damaged: it is not JSON",
                     [&](const auto& folder) { put(folder / manifest, "step 2"); });
  expect_passed_over("manifest.json\" is damaged: it is not JSON",
                     [&](const auto& folder) { put(folder / manifest, ""); });
  expect_passed_over("it is not of a checkpoint",
                     [&](const auto& folder) { put(folder / manifest, "[]"); });
  expect_passed_over("its hash is of another text", [&](const auto& folder) {
    flip(folder / manifest, contents(folder / manifest).find("64"), 0);
  });
  expect_passed_over(
      "is of a newer version (format 2, causeway 9.0.0; this one reads format 1); "
      "update causeway",
      [&](const auto& folder) { make_newer(folder / manifest); });
  expect_passed_over("is of step 1; the folder was renamed", [&](const auto& folder) {
    for (const auto& file : {model, manifest, std::string("optimizer.safetensors")}) {
      std::filesystem::remove(folder / file);
      std::filesystem::copy_file(folder.parent_path() / "step-00000001" / file, folder / file);
    }
  });
  expect_passed_over("manifest.json\": Not a directory", [&](const auto& folder) {
    std::filesystem::remove_all(folder);
    put(folder, "a file");
  });
  expect_passed_over("manifest.json\": No such file", [&](const auto& folder) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink("nowhere", folder);
  });
}

TEST(CheckpointDamage, WhereNoneIsLeftAllAreNamed) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  cut(folder.save(snapshot_of(1)).path / "model.safetensors", 0);
  put(folder.save(snapshot_of(2)).path / "manifest.json", "");
  const std::string message = failure([&] { folder.load_newest(); });
  EXPECT_TRUE(says(message, "format: [checkpoint.load] none of the 2 checkpoints in",
                   "can be used; bring one back from a copy"));
  EXPECT_TRUE(says(message, "", "step 1: [checkpoint.load]"));
  EXPECT_TRUE(says(message, "", "step 2: [checkpoint.load]"));
}

TEST(CheckpointDamage, AFileCutAnywhereIsFound) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(snapshot_of(1));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "manifest.json"}) {
    const std::string whole = contents(info.path / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      put(info.path / name, whole.substr(0, size));
      EXPECT_TRUE(says(failure([&] { folder.load(1); }), "format: [checkpoint.load]"))
          << name << " cut to " << size;
    }
    put(info.path / name, whole);
  }
  EXPECT_TRUE(is_consistent(folder.load(1)));
}

TEST(CheckpointDamage, EveryFlippedBitIsFound) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(snapshot_of(1, 2, 0.5));
  std::size_t n_flips = 0;
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "manifest.json"}) {
    const std::size_t size = contents(info.path / name).size();
    for (std::size_t at = 0; at < size; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        flip(info.path / name, at, bit);
        EXPECT_TRUE(says(failure([&] { folder.load(1); }), "format: [checkpoint.load]"))
            << name << ": byte " << at << ", bit " << bit;
        flip(info.path / name, at, bit);
        ++n_flips;
      }
    }
  }
  EXPECT_GT(n_flips, 6'000u);
  EXPECT_TRUE(is_consistent(folder.load(1)));
}

// A manifest whose hash is right and whose names lead out of the folder was made by no causeway.
TEST(CheckpointDamage, NamesThatLeadElsewhereAreRefused) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const std::filesystem::path path = folder.save(snapshot_of(1)).path / "manifest.json";
  auto json = nlohmann::ordered_json::parse(contents(path));
  json["files"]["../step-00000001/model"] = json["files"]["model"];
  json["sha256"] = std::string(64, '0');
  std::string text = json.dump(1) + "\n";
  text.replace(text.size() - 68, 64, data::sha256(data_test::bytes(text)));
  put(path, text);
  EXPECT_TRUE(says(failure([&] { folder.load(1); }), "format:", "name is not one of ours"));
}

TEST(CheckpointDamage, WhatIsNotWholeIsNeitherCountedNorRemoved) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 2});
  folder.save(snapshot_of(1, 4, 0.1));
  cut(folder.save(snapshot_of(2, 4, 0.0)).path / "model.safetensors", 9);
  make_newer(folder.save(snapshot_of(3)).path / "manifest.json");
  folder.save(snapshot_of(4));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(folder.best()->step, 1);
  folder.save(snapshot_of(5));
  folder.save(snapshot_of(6));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{1, 5, 6}));
  EXPECT_EQ(n_entries(folder.path()), 5u);  // and the two
  folder.save(snapshot_of(2));
  EXPECT_TRUE(is_consistent(folder.load(2)));  // saved again, a damaged one is whole
}

}  // namespace
}  // namespace causeway::train_test
