// TensorBoard event files, byte for byte. tensorboard_test.py reads them with other decoders.
#include "causeway/data/tensorboard.h"

#include "tests/data/scratch.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace causeway::data_test {
namespace {

// Built by hand from the format specifications; checksums computed bit by bit.
TEST(Tensorboard, RecordBytes) {
  const NamedNumber loss{"loss", 0.5};
  const std::string record = data::event_record(2.0, 300, {&loss, 1});
  const std::string message(
      "\x09\0\0\0\0\0\0\0\x40"  // wall_time 2.0
      "\x10\xac\x02"            // step 300
      "\x2a\x0d\x0a\x0b"        // summary of 13 bytes: a value of 11
      "\x0a\x04loss"
      "\x15\0\0\0\x3f",  // 0.5
      9 + 3 + 4 + 6 + 5);
  ASSERT_EQ(record.size(), 8 + 4 + message.size() + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x1b\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(8, 4), "\x1a\x0d\x9e\x13");
  EXPECT_EQ(record.substr(12, message.size()), message);
  EXPECT_EQ(record.substr(12 + message.size()), "\xdf\xc5\x2b\x60");
}

// Files for tensorboard_test.py, in a folder that it passes.
TEST(Tensorboard, WritesRuns) {
  const Scratch scratch;
  const char* given = std::getenv("CAUSEWAY_EVENTS");
  const std::filesystem::path folder = given == nullptr ? scratch / "run" : given;
  {
    EventWriter first(folder, 0);
    for (std::int64_t step = 0; step < 10; ++step) {
      const NamedNumber numbers[] = {{"train/loss", 1.0 / static_cast<double>(step + 1)},
                                     {"rate", 1e-3 * static_cast<double>(step)}};
      first.add(step, numbers);
    }
  }
  // A run resumed at step 5: it invalidates steps 6 and later of the first file.
  EventWriter second(folder, 6);
  for (std::int64_t step = 6; step < 8; ++step) {
    const NamedNumber numbers[] = {{"train/loss", 100.0 + static_cast<double>(step)}};
    second.add(step, numbers);
  }
  const NamedNumber odd[] = {{"odd/nan", std::numeric_limits<double>::quiet_NaN()},
                             {"odd/infinite", -std::numeric_limits<double>::infinity()},
                             {"odd/ünïcode", 1e300}};
  second.add(std::int64_t{1} << 40, odd);
  second.add((std::int64_t{1} << 40) + 1, {});

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].starts_with("events.out.tfevents."));
  // Files are read in name order, so the second must sort after the first.
  EXPECT_EQ(second.path().filename().string(), std::max(names[0], names[1]));
}

TEST(Tensorboard, DamagedFilesAreNamed) {
  const Scratch scratch;
  std::filesystem::path path;
  {
    EventWriter writer(scratch.folder(), 0);
    path = writer.path();
    const NamedNumber numbers[] = {{"loss", 1}};
    writer.add(1, numbers);
  }
  const std::string whole = contents(path);
  EXPECT_EQ(data::undamaged_events(bytes(whole)), whole.size());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    EXPECT_LE(data::undamaged_events(bytes(whole.substr(0, at))), at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 8);
    EXPECT_LE(data::undamaged_events(bytes(flipped)), at);
  }
  put(path, whole.substr(0, whole.size() - 1));
  testing::internal::CaptureStderr();
  const EventWriter next(scratch.folder(), 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(path.string() + "\" is damaged"), said.npos) << said;
}

}  // namespace
}  // namespace causeway::data_test
