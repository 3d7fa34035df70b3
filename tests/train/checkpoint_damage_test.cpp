// Damaged checkpoints: each kind is detected and named, and the one before it is loaded.
#include "causeway/data/sha256.h"
#include "tests/train/checkpoints.h"

#include <nlohmann/json.hpp>

#include <functional>

namespace causeway::train_test {
namespace {

using Damage = std::function<void(const std::filesystem::path& folder)>;

void cut(const std::filesystem::path& path, std::size_t size) {
  put(path, contents(path).substr(0, size));
}

// Damages the newer of two checkpoints: a warning names it with the reason, the older is loaded.
void expect_skipped(const std::string& reason, const Damage& damage) {
  SCOPED_TRACE(reason);
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  folder.save(checkpoint_of(1));
  const CheckpointInfo newer = folder.save(checkpoint_of(2));
  damage(newer.path);
  testing::internal::CaptureStderr();
  const std::optional<Checkpoint> found = folder.load_newest();
  const std::string warning = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 1);
  EXPECT_TRUE(is_consistent(*found));
  EXPECT_NE(warning.find(reason), std::string::npos) << warning;
  EXPECT_NE(warning.find("step-00000002"), std::string::npos) << warning;
  EXPECT_NE(warning.find("skipped the checkpoint of step 2"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("step-00000001"), std::string::npos) << warning;
  EXPECT_NE(failure([&] { folder.load(2); }).find(reason), std::string::npos);
}

// What a newer causeway would write: a valid manifest with a higher format number.
void make_newer(const std::filesystem::path& path) {
  auto json = nlohmann::ordered_json::parse(contents(path));
  json["format"] = 2;
  json["causeway"] = "9.0.0";
  json.erase("sha256");
  put(path, json.dump());
}

TEST(CheckpointDamage, EachKindIsNamedAndSkipped) {
  const std::string model = "model.safetensors";
  const std::string manifest = "manifest.json";
  expect_skipped("model.safetensors\" is damaged: truncated, 50 bytes instead of",
                 [&](const auto& folder) { cut(folder / model, 50); });
  expect_skipped("model.safetensors\" is damaged: too long",
                 [&](const auto& folder) { put(folder / model, contents(folder / model) + "x"); });
  expect_skipped("model.safetensors\" is damaged: its SHA-256 differs",
                 [&](const auto& folder) { flip(folder / model, 100, 3); });
  expect_skipped("cannot read", [&](const auto& folder) {
    std::filesystem::remove(folder / "optimizer.safetensors");
  });
  expect_skipped("optimizer.safetensors\": No such file", [&](const auto& folder) {
    std::filesystem::remove(folder / "optimizer.safetensors");
  });
  expect_skipped("manifest.json\": No such file",
                 [&](const auto& folder) { std::filesystem::remove(folder / manifest); });
  expect_skipped("manifest.json\" is damaged: it is not JSON",
                 [&](const auto& folder) { put(folder / manifest, "step 2"); });
  expect_skipped("manifest.json\" is damaged: it is not JSON",
                 [&](const auto& folder) { put(folder / manifest, ""); });
  expect_skipped("it is not the manifest of a checkpoint",
                 [&](const auto& folder) { put(folder / manifest, "[]"); });
  expect_skipped("its SHA-256 does not match", [&](const auto& folder) {
    flip(folder / manifest, contents(folder / manifest).find("64"), 0);
  });
  expect_skipped(
      "has a newer format (2, written by causeway 9.0.0; this version reads format 1); "
      "update causeway",
      [&](const auto& folder) { make_newer(folder / manifest); });
  expect_skipped("is the manifest of step 1; the folder was renamed", [&](const auto& folder) {
    for (const auto& file : {model, manifest, std::string("optimizer.safetensors")}) {
      std::filesystem::remove(folder / file);
      std::filesystem::copy_file(folder.parent_path() / "step-00000001" / file, folder / file);
    }
  });
  expect_skipped("manifest.json\": Not a directory", [&](const auto& folder) {
    std::filesystem::remove_all(folder);
    put(folder, "a file");
  });
  expect_skipped("manifest.json\": No such file", [&](const auto& folder) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink("nowhere", folder);
  });
}

TEST(CheckpointDamage, WithoutAnIntactOneAllAreNamed) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  cut(folder.save(checkpoint_of(1)).path / "model.safetensors", 0);
  put(folder.save(checkpoint_of(2)).path / "manifest.json", "");
  const std::string message = failure([&] { folder.load_newest(); });
  EXPECT_TRUE(says(message, "format: [checkpoint.load] none of the 2 checkpoints in",
                   "can be used; restore one from a backup"));
  EXPECT_TRUE(says(message, "", "step 1: [checkpoint.load]"));
  EXPECT_TRUE(says(message, "", "step 2: [checkpoint.load]"));
}

TEST(CheckpointDamage, TruncationAnywhereIsDetected) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(checkpoint_of(1));
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

TEST(CheckpointDamage, EveryFlippedBitIsDetected) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(checkpoint_of(1, 2, 0.5));
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

// A manifest with a valid hash and names that are paths out of the folder.
TEST(CheckpointDamage, PathsOutOfTheFolderAreRefused) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const std::filesystem::path path = folder.save(checkpoint_of(1)).path / "manifest.json";
  auto json = nlohmann::ordered_json::parse(contents(path));
  json["files"]["../step-00000001/model"] = json["files"]["model"];
  json["sha256"] = std::string(64, '0');
  std::string text = json.dump(1) + "\n";
  text.replace(text.size() - 68, 64, data::sha256(data_test::bytes(text)));
  put(path, text);
  EXPECT_TRUE(says(failure([&] { folder.load(1); }), "format:", "has an invalid name"));
}

TEST(CheckpointDamage, IncompleteOnesAreNeitherListedNorRemoved) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 2});
  folder.save(checkpoint_of(1, 4, 0.1));
  cut(folder.save(checkpoint_of(2, 4, 0.0)).path / "model.safetensors", 9);
  make_newer(folder.save(checkpoint_of(3)).path / "manifest.json");
  folder.save(checkpoint_of(4));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(folder.best()->step, 1);
  folder.save(checkpoint_of(5));
  folder.save(checkpoint_of(6));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{1, 5, 6}));
  EXPECT_EQ(n_entries(folder.path()), 5u);  // and the two
  folder.save(checkpoint_of(2));
  EXPECT_TRUE(is_consistent(folder.load(2)));  // saving again repairs a damaged one
}

}  // namespace
}  // namespace causeway::train_test
