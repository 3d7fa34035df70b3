// Checkpoints written while training continues: they hold the state at the time of the call, one
// after the other, and failures end neither the run nor the process.
#include "causeway/train/checkpoint_writer.h"

#include "causeway/core/error.h"
#include "causeway/runtime/pool.h"
#include "tests/train/checkpoints.h"

#include <gtest/gtest.h>

namespace causeway::train_test {
namespace {

using train::CheckpointWriter;

void overwrite(const Checkpoint& checkpoint) {
  for (const auto& [set, tensors] : checkpoint.tensors) {
    for (const auto& [name, tensor] : tensors) {
      std::fill_n(tensor.data_as<float>(), tensor.numel(), -1.0f);
    }
  }
}

TEST(CheckpointWriter, HoldsTheStateAtTheTimeOfTheCall) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  std::atomic<std::int64_t> saved = -1;
  CheckpointWriter writer(folder, saved);
  for (const std::int64_t step : {3, 5, 8}) {
    const Checkpoint checkpoint = checkpoint_of(step, 1 << 18);
    writer.start(checkpoint);
    overwrite(checkpoint);  // as the next training step does
  }
  writer.finish();
  EXPECT_EQ(saved, 8);
  for (const std::int64_t step : {3, 5, 8}) EXPECT_TRUE(is_consistent(folder.load(step)));
}

TEST(CheckpointWriter, WaitsBeforeItIsDestroyed) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  std::atomic<std::int64_t> saved = -1;
  CheckpointWriter(folder, saved).start(checkpoint_of(4, 1 << 20));
  EXPECT_EQ(saved, 4);
  EXPECT_TRUE(is_consistent(folder.load(4)));
}

TEST(CheckpointWriter, AnIoErrorIsAWarning) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  std::filesystem::create_directories(scratch / "run");
  put(scratch / "run/checkpoints", "a file where the folder should be");
  std::atomic<std::int64_t> saved = -1;
  CheckpointWriter writer(folder, saved);
  testing::internal::CaptureStderr();
  writer.start(checkpoint_of(1));
  writer.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("training continues without this checkpoint"), said.npos) << said;
  EXPECT_EQ(saved, -1);
  EXPECT_THROW(writer.write(checkpoint_of(1)), Error);  // the last one must be written
}

TEST(CheckpointWriter, OtherErrorsAreThrownWhenItIsAskedNext) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  std::atomic<std::int64_t> saved = -1;
  CheckpointWriter writer(folder, saved);
  writer.start(checkpoint_of(-2));
  EXPECT_THROW(writer.finish(), Error);
  writer.finish();  // once
  writer.start(checkpoint_of(6));
  writer.finish();
  EXPECT_EQ(saved, 6);
}

TEST(CheckpointWriter, WithLimitedMemoryItWritesAtOnce) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch / "run");
  std::atomic<std::int64_t> saved = -1;
  CheckpointWriter writer(folder, saved);
  const Checkpoint checkpoint = checkpoint_of(7);
  const LimitScope limit(pool_of(Device::cpu()), std::size_t{1} << 30);
  const std::uint64_t before = pool_of(Device::cpu()).stats().allocations;
  writer.start(checkpoint);
  EXPECT_EQ(saved, 7);
  EXPECT_EQ(pool_of(Device::cpu()).stats().allocations, before);
}

}  // namespace
}  // namespace causeway::train_test
