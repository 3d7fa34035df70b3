// Array files written in parts: HDF5 and npz through one set of tests, and errors for damaged
// files.
#include "causeway/data/array_file.h"
#include "causeway/data/crc32.h"
#include "causeway/data/hdf5.h"
#include "causeway/data/npz.h"
#include "causeway/tensor/create.h"
#include "tests/data/scratch.h"

#include <array>
#include <cstring>
#include <functional>
#include <memory>

#include <signal.h>
#include <sys/resource.h>

namespace causeway::data_test {
namespace {

using data::ArrayFile;
using data::ArrayLayout;

const std::span<const std::byte> nothing;

ArrayLayout small_layout(std::int64_t n_entries) {
  return {n_entries,
          4,
          {{"X", DType::f32, {3, 2}}, {"n", DType::i32, {}}, {"hash", DType::i64, {}}},
          {{"classes", 10, ""}, {"problem_type", 0, "classification"}}};
}

// Values that encode their position.
Tensor numbers(std::int64_t first, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = first * 6; i < (first + count) * 6; ++i) {
    values.push_back(static_cast<float>(i) * 0.5f);
  }
  return Tensor::from<float>(values, {count, 3, 2});
}

struct Format {
  const char* name;
  std::unique_ptr<ArrayFile> (*create)(std::string_view, const std::filesystem::path&,
                                       const ArrayLayout&);
  std::unique_ptr<ArrayFile> (*resume)(std::string_view, const std::filesystem::path&,
                                       const ArrayLayout&);
};

class ArrayFiles : public testing::TestWithParam<Format> {
 protected:
  void SetUp() override {
    if (GetParam().create == data::create_hdf5 && data::hdf5_status().version.empty()) {
      GTEST_SKIP() << "this build has no HDF5";
    }
  }
  const Scratch scratch_;
  const std::filesystem::path path_ = scratch_ / "dump";
};

INSTANTIATE_TEST_SUITE_P(Formats, ArrayFiles,
                         testing::Values(Format{"hdf5", data::create_hdf5, data::resume_hdf5},
                                         Format{"npz", data::create_npz, data::resume_npz}),
                         [](const testing::TestParamInfo<Format>& format) {
                           return std::string(format.param.name);
                         });

void write_entries(ArrayFile& file, std::int64_t first, std::int64_t count) {
  file.write("X", first, numbers(first, count));
  const std::vector<std::int32_t> n(static_cast<std::size_t>(count),
                                    static_cast<std::int32_t>(first));
  file.write("n", first, Tensor::from<std::int32_t>(n, {count}));
}

TEST_P(ArrayFiles, RoundTripInAnyOrder) {
  for (const std::int64_t n_entries : {0, 1, 4, 11}) {
    const auto file = GetParam().create("save", path_, small_layout(n_entries));
    for (std::int64_t first = (n_entries - 1) / 4 * 4; n_entries > 0 && first >= 0; first -= 4) {
      write_entries(*file, first, std::min<std::int64_t>(4, n_entries - first));
    }
    EXPECT_EQ(file->read("X", 0, n_entries).to_vector<float>(),
              numbers(0, n_entries).to_vector<float>());
    file->finish();
    const auto again = GetParam().resume("load", path_, small_layout(n_entries));
    EXPECT_EQ(again->read("X", n_entries / 2, n_entries - n_entries / 2).to_vector<float>(),
              numbers(n_entries / 2, n_entries - n_entries / 2).to_vector<float>());
  }
}

TEST_P(ArrayFiles, SameDataSameBytes) {
  for (const char* name : {"a", "b"}) {
    const auto file = GetParam().create("save", scratch_ / name, small_layout(6));
    write_entries(*file, name[0] == 'a' ? 0 : 4, name[0] == 'a' ? 4 : 2);
    write_entries(*file, name[0] == 'a' ? 4 : 0, name[0] == 'a' ? 2 : 4);
    file->finish();
  }
  EXPECT_EQ(contents(scratch_ / "a"), contents(scratch_ / "b"));
}

TEST_P(ArrayFiles, ResumesAnUnfinishedFile) {
  // A copy taken in the middle is what a killed process leaves.
  const auto file = GetParam().create("save", path_, small_layout(11));
  write_entries(*file, 0, 4);
  std::filesystem::copy_file(path_, scratch_ / "left");
  write_entries(*file, 4, 4);
  write_entries(*file, 8, 3);
  file->finish();
  const auto left = GetParam().resume("save", scratch_ / "left", small_layout(11));
  EXPECT_EQ(left->read("X", 0, 4).to_vector<float>(), numbers(0, 4).to_vector<float>());
  EXPECT_EQ(left->layout().columns.size(), 3u);  // without constants
  write_entries(*left, 4, 4);
  write_entries(*left, 8, 3);
  left->finish();
  EXPECT_EQ(contents(scratch_ / "left"), contents(path_));
}

TEST_P(ArrayFiles, RejectsTruncatedFiles) {
  const auto file = GetParam().create("save", path_, small_layout(11));
  write_entries(*file, 0, 4);
  file->finish();
  const std::string whole = contents(path_);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 3}) {
    put(scratch_ / "cut", std::string_view(whole).substr(0, size));
    EXPECT_TRUE(
        says(failure([&] { GetParam().resume("load", scratch_ / "cut", small_layout(11)); }),
             "format: [load] \"", "cut\""))
        << size;
  }
}

TEST_P(ArrayFiles, RejectsAnotherLayout) {
  GetParam().create("save", path_, small_layout(8))->finish();
  EXPECT_TRUE(says(failure([&] { GetParam().resume("load", path_, small_layout(9)); }),
                   "format: [load] \"", "dump"));
}

TEST_P(ArrayFiles, RejectsUnwritablePaths) {
  EXPECT_TRUE(says(
      failure([&] { GetParam().create("save", scratch_ / "no/such/folder", small_layout(4)); }),
      "io: [save] cannot write \"", "check that the path"));
  EXPECT_TRUE(says(failure([&] { GetParam().resume("save", scratch_ / "none", small_layout(4)); }),
                   "io: [save] cannot ", "check that the path"));
}

TEST_P(ArrayFiles, RejectsASecondWriter) {
  const auto file = GetParam().create("save", path_, small_layout(4));
  EXPECT_TRUE(says(failure([&] { GetParam().resume("save", path_, small_layout(4)); }),
                   "io: [save]", "another process is writing it"));
}

TEST_P(ArrayFiles, FileSizeLimitIsAOneLineError) {
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{64 << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string words = failure([&] {
    const auto file = GetParam().create("save", path_, small_layout(100'000));
    for (std::int64_t first = 0; first < 100'000; first += 4) write_entries(*file, first, 4);
    file->finish();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(says(words, "io: [save] cannot write \"", "File too large"));
}

TEST(Hdf5, ArraysGrowAndAreListed) {
  if (data::hdf5_status().version.empty()) GTEST_SKIP() << "this build has no HDF5";
  const Scratch scratch;
  const auto file = data::create_hdf5("save", scratch / "grows.h5", small_layout(0));
  for (std::int64_t first = 0; first < 9; first += 3) write_entries(*file, first, 3);
  file->finish();
  const auto read = data::open_hdf5("load", scratch / "grows.h5");
  EXPECT_EQ(read->layout().n_entries, 9);
  EXPECT_EQ(read->read("X", 0, 9).to_vector<float>(), numbers(0, 9).to_vector<float>());
  EXPECT_EQ(read->read("classes", 0, 1).item_integer(), 10);
  EXPECT_TRUE(says(failure([&] { read->read("X", 8, 2); }), "invalid_argument: [load]", "has 9"));
  EXPECT_TRUE(
      says(failure([&] { read->read("Z", 0, 1); }), "invalid_argument: [load]", "no array"));
}

TEST(Hdf5, RejectsOtherFiles) {
  if (data::hdf5_status().version.empty()) GTEST_SKIP() << "this build has no HDF5";
  const Scratch scratch;
  put(scratch / "text.h5", "not at all");
  EXPECT_TRUE(says(failure([&] { data::open_hdf5("load", scratch / "text.h5"); }), "format: [load]",
                   "not an HDF5 file"));
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(data::crc32(nothing), 0u);
  EXPECT_EQ(data::crc32(bytes("123456789")), 0xCBF43926u);
  const std::string text(1000, 'x');
  for (const std::size_t cut : {0, 1, 7, 8, 9, 999}) {
    const auto whole = bytes(text);
    EXPECT_EQ(data::crc32(whole.subspan(cut), data::crc32(whole.first(cut))), data::crc32(whole));
  }
}

TEST(Npz, RoundTrip) {
  const Scratch scratch;
  data::NpzWriter writer("save", scratch / "x.npz");
  writer.add("X", numbers(0, 5));
  writer.add("empty", Tensor::empty({0, 3}, DType::i64));
  writer.add({"problem_type", 0, "regression"});
  writer.add({"classes", 7, ""});
  writer.commit();
  const auto arrays = load_npz(scratch / "x.npz");
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("X").to_vector<float>(), numbers(0, 5).to_vector<float>());
  EXPECT_EQ(arrays.at("classes").item_integer(), 7);
  EXPECT_EQ(arrays.at("empty").shape(), (Shape{0, 3}));
}

TEST(Npz, TruncationAndCorruptionAreDetected) {
  const Scratch scratch;
  data::NpzWriter writer("save", scratch / "x.npz");
  writer.add("X", numbers(0, 1));
  writer.commit();
  const std::string whole = contents(scratch / "x.npz");
  const auto load = [&](std::string_view text) {
    put(scratch / "bad.npz", text);
    return load_npz(scratch / "bad.npz");
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(says(failure([&] { load(std::string_view(whole).substr(0, size)); }), "format: "));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const std::string words = failure([&] {
      for (const auto& [name, array] : load(changed)) {
        EXPECT_EQ(array.to_vector<float>(), numbers(0, 1).to_vector<float>());
      }
    });
    EXPECT_TRUE(words.empty() || words.starts_with("format: ")) << at << ": " << words;
  }
}

}  // namespace
}  // namespace causeway::data_test
