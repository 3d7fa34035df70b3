// Checkpoints: loading returns what was saved bit for bit; which ones are kept; which one is
// loaded.
#include "causeway/train/checkpoint.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/data/sha256.h"
#include "tests/train/checkpoints.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include <sys/stat.h>

namespace causeway::train_test {
namespace {

TEST(Checkpoint, RoundTripIsBitExact) {
  const Scratch scratch;
  Checkpoint checkpoint = checkpoint_of(1200, 5, 0.1 + 0.2);
  auto& all = checkpoint.tensors["every-dtype_1"];
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{3, 1, 7}}) {
      all[std::string(to_string(dtype)) + to_string(shape)] = data_test::patterned(shape, dtype);
    }
  }
  all["strided"] = data_test::patterned({6, 4}, DType::f32).transpose().slice(1, 0, 6, 2);
  checkpoint.tensors["empty"] = {};
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(checkpoint);
  EXPECT_EQ(info.path, scratch / "checkpoints/step-00001200");

  const std::optional<Checkpoint> found = folder.load_newest(Device::cpu());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 1200);
  EXPECT_EQ(found->datasets, 64 * 1200);
  EXPECT_EQ(found->score, 0.1 + 0.2);
  EXPECT_EQ(found->random, checkpoint.random);
  EXPECT_EQ(found->configuration, checkpoint.configuration);
  ASSERT_EQ(found->tensors.size(), checkpoint.tensors.size());
  for (const auto& [set, tensors] : checkpoint.tensors) {
    ASSERT_EQ(found->tensors.at(set).size(), tensors.size()) << set;
    for (const auto& [name, tensor] : tensors) {
      SCOPED_TRACE(set + "/" + name);
      data_test::expect_same(found->tensors.at(set).at(name), tensor);
    }
  }
}

TEST(Checkpoint, FilesAreSafetensors) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const CheckpointInfo info = folder.save(checkpoint_of(7, 5, 0.5));
  const auto model = load_safetensors(info.path / "model.safetensors");
  EXPECT_EQ(model.tensors.at("a").to_vector<float>(), std::vector<float>(5, 7.0F));

  const auto manifest = nlohmann::json::parse(contents(info.path / "manifest.json"));
  EXPECT_EQ(manifest.at("step"), 7);
  EXPECT_EQ(manifest.at("score"), 0.5);
  EXPECT_EQ(manifest.at("random").at("seed"), 18446744073709551615u);
  EXPECT_EQ(manifest.at("configuration").at("learning_rate"), 0.1);
  EXPECT_EQ(manifest.at("date").get<std::string>().size(), 20u);
  std::uint64_t n_bytes = 0;
  for (const auto& [set, file] : manifest.at("files").items()) {
    const std::string text = contents(info.path / (set + ".safetensors"));
    EXPECT_EQ(file.at("bytes"), text.size());
    EXPECT_EQ(file.at("sha256"), data::sha256(data_test::bytes(text)));
    n_bytes += text.size();
  }
  EXPECT_EQ(info.n_bytes, n_bytes);
}

TEST(Checkpoint, AnEmptyFolderIsNotAnError) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  EXPECT_FALSE(folder.load_newest().has_value());
  EXPECT_FALSE(folder.best().has_value());
  EXPECT_TRUE(folder.list().empty());
  EXPECT_FALSE(std::filesystem::exists(scratch / "run"));
  EXPECT_TRUE(says(failure([&] { folder.load(3); }), "io: [checkpoint.load] cannot read",
                   "step-00000003/manifest.json\": No such file"));
}

TEST(Checkpoint, KeepsTheLastAndTheBest) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::optional<double>> scores{0.9, 0.3, 0.5, {}, nan, 0.3, 0.4, 0.6, 0.7};
  const std::vector<std::vector<std::int64_t>> expected{
      {0}, {0, 1}, {1, 2}, {1, 2, 3}, {1, 3, 4}, {4, 5}, {5, 6}, {5, 6, 7}, {5, 7, 8}};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    folder.save(checkpoint_of(static_cast<std::int64_t>(i), 4, scores[i]));
    EXPECT_EQ(steps_in(folder), expected[i]) << i;
    EXPECT_EQ(n_entries(folder.path()), expected[i].size());
  }
  ASSERT_TRUE(folder.best().has_value());
  EXPECT_EQ(folder.best()->step, 5);
  EXPECT_EQ(folder.best()->score, 0.3);
  EXPECT_TRUE(is_consistent(folder.load(folder.best()->step)));
  EXPECT_EQ(folder.load_newest()->step, 8);

  const CheckpointFolder by_accuracy(scratch.folder(), {.keep_last = 1, .higher_is_better = true});
  EXPECT_EQ(by_accuracy.best()->step, 8);
  by_accuracy.save(checkpoint_of(9, 4, 0.1));
  EXPECT_EQ(steps_in(by_accuracy), (std::vector<std::int64_t>{8, 9}));
  EXPECT_TRUE(says(failure([&] { CheckpointFolder(scratch.folder(), {.keep_last = 0}); }),
                   "invalid_argument: [checkpoint] keep_last"));
}

TEST(Checkpoint, StepsAreNumbersNotText) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  folder.save(checkpoint_of(99'999'999));
  folder.save(checkpoint_of(100'000'000));
  EXPECT_EQ(folder.load_newest()->step, 100'000'000);
  for (const char* name : {"step-1", "step-", "step-0000000x", "steps", "step-00000005.old"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  EXPECT_EQ(folder.list().size(), 2u);
  EXPECT_EQ(folder.load_newest()->step, 100'000'000);
}

TEST(Checkpoint, AnExistingStepIsReplaced) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  folder.save(checkpoint_of(5, 100));
  put(folder.path() / "step-00000005/more.txt", "of the old one");
  folder.save(checkpoint_of(5, 7));
  EXPECT_EQ(folder.load(5).tensors.at("model").at("a").numel(), 7);
  EXPECT_EQ(n_entries(folder.path()), 1u);
  EXPECT_EQ(n_entries(folder.path() / "step-00000005"), 3u);
}

// A run resumed from an older checkpoint because the newest was damaged: its saves must be kept.
TEST(Checkpoint, KeepsASaveOfAnEarlierStepThanTheNewest) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 1});
  folder.save(checkpoint_of(10));
  std::filesystem::rename(folder.path() / "step-00000010", scratch / "aside");
  folder.save(checkpoint_of(12));
  std::filesystem::rename(scratch / "aside", folder.path() / "step-00000010");
  folder.save(checkpoint_of(11));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{11, 12}));
}

TEST(Checkpoint, BadArgumentsFailBeforeAnythingIsWritten) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const auto message = [&](auto&& change) {
    Checkpoint checkpoint = checkpoint_of(1);
    change(checkpoint);
    return failure([&] { folder.save(checkpoint); });
  };
  EXPECT_TRUE(says(message([](Checkpoint& s) { s.step = -1; }), "invalid_argument:", "negative"));
  EXPECT_TRUE(says(message([](Checkpoint& s) { s.random = "{"; }),
                   "invalid_argument: [checkpoint.save] the random state is not JSON"));
  EXPECT_TRUE(says(message([](Checkpoint& s) { s.configuration = "\"\xff\""; }),
                   "invalid_argument: [checkpoint.save] the configuration is not JSON"));
  for (const char* name : {"", "../model", "Model", "a.b", "a b"}) {
    EXPECT_TRUE(says(message([&](Checkpoint& s) { s.tensors[name] = {}; }),
                     "invalid_argument: [checkpoint.save] bad name of a set of tensors"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

TEST(Checkpoint, AnUnwritableFolderIsAnError) {
  const Scratch scratch;
  put(scratch / "file", "");
  EXPECT_TRUE(says(failure([&] { CheckpointFolder(scratch / "file").check_writable(); }),
                   "io: [checkpoint.save] cannot write", "Not a directory"));
  const CheckpointFolder folder(scratch / "run");
  folder.check_writable();
  EXPECT_EQ(n_entries(folder.path()), 0u);
  folder.save(checkpoint_of(1));
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  ASSERT_EQ(::chmod(scratch.folder().c_str(), 0755), 0);
  const int code = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;  // root may write everywhere
    const std::string why = "Permission denied; check the permissions";
    const bool refused = says(failure([&] { folder.save(checkpoint_of(2)); }), "io:", why) &&
                         says(failure([&] { folder.check_writable(); }), "io:", why);
    return refused && is_consistent(*folder.load_newest()) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(steps_in(folder), std::vector<std::int64_t>{1});
}

}  // namespace
}  // namespace causeway::train_test
