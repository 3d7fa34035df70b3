// The batches of pre-training: the same datasets for any rank count and any order of steps, batched
// by width.
#include "causeway/train/table_stream.h"

#include "tests/tensor/devices.h"
#include "tests/train/small_pretraining.h"

#include <algorithm>
#include <map>

namespace causeway::train_test {
namespace {

using data_test::expect_same;
using data_test::raw;
using models::Tables;
using train::padded_width;
using train::RowStage;
using train::TableStream;
using train::TableStreamOptions;

TableStreamOptions small_stream() {
  TableStreamOptions options;
  options.prior = small_prior();
  options.batch = 4;
  options.window_steps = 4;
  return options;
}

TableStream stream_of(const TableStreamOptions& options) { return {options, Device::cpu()}; }

void expect_same(const Tables& found, const Tables& expected) {
  expect_same(found.x, expected.x);
  expect_same(found.y, expected.y);
  expect_same(found.sizes, expected.sizes);
}

TEST(TableStream, RanksTogetherHaveTheBatch) {
  TableStreamOptions options = small_stream();
  TableStream whole = stream_of(options);
  for (const int n_ranks : {2, 4}) {
    options.n_ranks = n_ranks;
    std::vector<TableStream> ranks;
    for (options.rank = 0; options.rank < n_ranks; ++options.rank) {
      ranks.push_back(stream_of(options));
    }
    for (const std::int64_t step : {0, 1, 2, 5, 9}) {
      SCOPED_TRACE(step);
      const Tables all = whole.tables(step);
      const std::int64_t own = all.x.size(0) / n_ranks;
      for (std::int64_t rank = 0; rank < n_ranks; ++rank) {
        const auto part = [&](const Tensor& of) {
          return of.slice(0, rank * own, (rank + 1) * own);
        };
        expect_same(ranks[static_cast<std::size_t>(rank)].tables(step),
                    {part(all.x), part(all.y), part(all.sizes)});
      }
    }
  }
}

TEST(TableStream, AnyOrderOfSteps) {
  TableStream in_order = stream_of(small_stream());
  std::vector<Tables> expected;
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto [x, y, sizes] = in_order.tables(step);
    expected.push_back({x.clone(), y.clone(), sizes.clone()});
  }
  EXPECT_NE(raw(expected[0].x), raw(expected[4].x));
  TableStream jumps = stream_of(small_stream());
  for (const std::size_t step : {17u, 3u, 4u, 19u, 0u, 11u, 12u, 7u, 7u}) {
    SCOPED_TRACE(step);
    expect_same(jumps.tables(static_cast<std::int64_t>(step)), expected[step]);
  }
}

// A window contains each of its datasets once, with the prior's values, batched with others of
// similar width and padded with zeros.
TEST(TableStream, DatasetsOfThePrior) {
  const TableStreamOptions options = small_stream();
  const std::int64_t count = options.batch * options.window_steps;
  TableStream stream = stream_of(options);
  for (const std::int64_t window : {0, 1, 3}) {
    const prior::Batch made =
        prior::Prior(options.prior).batch(static_cast<std::uint64_t>(window * count), count);
    std::map<std::string, int> left;
    for (std::int64_t k = 0; k < count; ++k) ++left[raw(made.x_of(k)) + raw(made.y_of(k))];
    EXPECT_EQ(left.size(), static_cast<std::size_t>(count));
    for (std::int64_t step = window * 4; step < window * 4 + 4; ++step) {
      const auto [x, y, sizes] = stream.tables(step);
      ASSERT_EQ(x.size(0), options.batch);
      int widest = 0;
      for (std::int64_t k = 0; k < options.batch; ++k) {
        const auto size = sizes.select(0, k).to_vector<std::int64_t>();
        EXPECT_LT(size[2], size[0]);
        widest = std::max(widest, static_cast<int>(size[1]));
        const Tensor table = x.select(0, k);
        const std::string bytes = raw(table.slice(1, 0, size[1])) + raw(y.select(0, k));
        EXPECT_EQ(--left[bytes], 0) << "step " << step << ", table " << k;
        const std::string behind = raw(table.slice(1, size[1], x.size(2)));
        EXPECT_EQ(behind, std::string(behind.size(), '\0'));
      }
      EXPECT_EQ(x.size(2), padded_width(widest, options.prior.features.high));
    }
  }
}

TEST(TableStream, Widths) {
  std::vector<int> widths;
  for (int features = 1; features <= 50; ++features) {
    const int width = padded_width(features, 50);
    EXPECT_GE(width, features);
    EXPECT_LT(width - features, 8);
    if (widths.empty() || widths.back() != width) widths.push_back(width);
  }
  EXPECT_EQ(widths, (std::vector<int>{2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 50}));
  EXPECT_EQ(padded_width(3, 3), 3);
}

TEST(TableStream, StagesBeginWithWindows) {
  TableStreamOptions options = small_stream();
  options.stages = {{4, 10}, {6, 12}, {16, 14}};
  TableStream stream = stream_of(options);
  std::vector<std::int64_t> rows;
  for (std::int64_t step = 0; step < 20; step += 2) rows.push_back(stream.tables(step).x.size(1));
  EXPECT_EQ(rows, (std::vector<std::int64_t>{20, 20, 10, 10, 12, 12, 12, 12, 14, 14}));
}

// Each window comes twice: as with one use, then with rows, features and classes reversed.
TEST(TableStream, TwoUsesOfADataset) {
  TableStreamOptions options = small_stream();
  options.prior.rows = {10, 20};
  options.prior.classes = {2, 4};
  options.stages = {{8, 12}};
  for (const bool regression : {false, true}) {
    options.prior.regression = regression;
    options.uses = 1;
    TableStream once = stream_of(options);
    options.uses = 2;
    options.stages = {{16, 12}};
    TableStream twice = stream_of(options);
    for (std::int64_t step = 0; step < 12; ++step) {
      SCOPED_TRACE(step);
      const std::int64_t first = step / 4 * 8 + step % 4;
      const Tables want = once.tables(step);
      expect_same(twice.tables(first), want);
      const Tables again = twice.tables(first + 4);
      expect_same(again.sizes, want.sizes);
      for (std::int64_t k = 0; k < options.batch; ++k) {
        const auto size = want.sizes.select(0, k).to_vector<std::int64_t>();
        const auto labels = want.y.select(0, k).slice(0, 0, size[0]).to_vector<float>();
        const float most = *std::ranges::max_element(labels);
        for (std::int64_t row = 0; row < size[0]; ++row) {
          const std::int64_t from = size[0] - 1 - row;
          const float label = want.y.select(0, k).select(0, from).item();
          EXPECT_EQ(again.y.select(0, k).select(0, row).item(), regression ? label : most - label);
          for (std::int64_t column = 0; column < size[1]; ++column) {
            EXPECT_EQ(raw(again.x.select(0, k).select(0, row).select(0, column)),
                      raw(want.x.select(0, k).select(0, from).select(0, size[1] - 1 - column)));
          }
        }
        const auto beyond = [&](const Tables& of) {
          return raw(of.x.select(0, k).slice(0, size[0])) +
                 raw(of.x.select(0, k).slice(1, size[1])) +
                 raw(of.y.select(0, k).slice(0, size[0]));
        };
        EXPECT_EQ(beyond(again), beyond(want));
      }
    }
    options.stages = {{8, 12}};
  }
}

TEST(GpuTableStream, ReversesAsTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  TableStream stream = stream_of(small_stream());
  const Tables tables = stream.tables(0);
  const Device gpu = Device::cuda();
  const Tables moved{tables.x.to(gpu), tables.y.to(gpu), tables.sizes.to(gpu)};
  for (const bool has_classes : {true, false}) {
    const Tables found = models::reversed(moved, has_classes);
    const Tables want = models::reversed(tables, has_classes);
    expect_same(found.x.to(Device::cpu()), want.x);
    expect_same(found.y.to(Device::cpu()), want.y);
  }
}

// No attempt passes where a single row must show all classes that others have.
TEST(TableStream, FailedDatasetsHaveNoLoss) {
  TableStreamOptions options = small_stream();
  options.window_steps = 1;
  options.prior.features = {1, 2};
  options.prior.rows = {4, 4};
  options.prior.classes = {2, 2};
  options.prior.train_low = 0.25;
  options.prior.train_high = 0.75;
  TableStream stream = stream_of(options);
  models::TabularTransformer model(small_pretraining().model);
  int n_failed = 0;
  int n_good = 0;
  for (std::int64_t step = 0; step < 2; ++step) {
    const Tables all = stream.tables(step);
    double sum = 0;
    for (std::int64_t k = 0; k < options.batch; ++k) {
      const auto one = [&](const Tensor& of) { return of.slice(0, k, k + 1).contiguous(); };
      const Tables table{one(all.x), one(all.y), one(all.sizes)};
      const auto size = table.sizes.to_vector<std::int64_t>();
      const double loss = model.loss(table).item();
      sum += loss;
      const bool failed = size[2] == size[0];
      EXPECT_EQ(loss == 0, failed);
      ++(failed ? n_failed : n_good);
    }
    EXPECT_NEAR(model.loss(all).item(), sum / static_cast<double>(options.batch), 1e-5);
  }
  EXPECT_GT(n_failed, 0);
  EXPECT_GT(n_good, 0);
}

TEST(TableStream, BadArguments) {
  const auto says_of = [](const auto& change) {
    TableStreamOptions options = small_stream();
    change(options);
    return failure([&] { stream_of(options); });
  };
  EXPECT_TRUE(says(says_of([](auto& options) { options.n_ranks = 3; }),
                   "invalid_argument: [pretrain] batch 4: expected a multiple of the 3 ranks"));
  EXPECT_TRUE(says(says_of([](auto& options) { options.window_steps = 0; }),
                   "invalid_argument:", "window_steps 0"));
  EXPECT_TRUE(says(says_of([](auto& options) {
                     options.stages = {{4, 10}, {4, 12}};
                   }),
                   "invalid_argument:", "stage of step 4 after the stage of step 4"));
  EXPECT_TRUE(says(says_of([](auto& options) {
                     options.stages = {{0, 10}, {1000, -1}};
                   }),
                   "invalid_argument: [prior] rows -1", "the stage of step 1000"));
}

// A window that is replaced or destroyed while it is generated keeps its memory until then.
TEST(GpuTableStream, MemoryBeingFilledIsNotReused) {
  CAUSEWAY_REQUIRE_GPU();
  TableStreamOptions options = small_stream();
  options.batch = 64;
  const Device gpu = Device::cuda();
  for (int turn = 0; turn < (few_cases() ? 1 : 20); ++turn) {
    std::int64_t size = 0;
    {
      TableStream stream(options, gpu);
      for (const std::int64_t step : {0, 400, 800}) {
        size = static_cast<std::int64_t>(stream.tables(step).x.storage()->buffer.size() / 4);
      }
    }
    std::vector<Tensor> others;
    for (int i = 0; i < 6; ++i) others.push_back(full({size}, 7, DType::f32, gpu));
    synchronize(gpu);
    for (const Tensor& other : others) expect_same(other.to(Device::cpu()), full({size}, 7));
  }
}

}  // namespace
}  // namespace causeway::train_test
