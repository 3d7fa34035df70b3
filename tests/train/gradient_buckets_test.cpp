// The layout of gradient buckets: every element once, within one part, evenly owned.
#include "causeway/train/gradient_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace causeway::train {
namespace {

std::vector<Tensor> parameters_of(const std::vector<Shape>& shapes, DType dtype = DType::f32) {
  std::vector<Tensor> all;
  for (const Shape& shape : shapes) all.push_back(Tensor::empty(shape, dtype));
  return all;
}

// Elements owned by each rank.
std::vector<std::int64_t> expect_valid(const std::vector<BucketLayout>& layouts,
                                       const std::vector<Tensor>& parameters, int n_ranks) {
  std::vector<std::int64_t> owned(static_cast<std::size_t>(n_ranks));
  std::map<std::size_t, std::int64_t> covered;
  for (const BucketLayout& layout : layouts) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const BucketPiece& piece : layout.pieces) {
      EXPECT_GT(piece.count, 0);
      EXPECT_EQ(piece.offset % 64, 0);
      EXPECT_EQ(piece.begin % 64, 0);
      EXPECT_EQ(piece.offset / layout.part, (piece.offset + piece.count - 1) / layout.part);
      EXPECT_LE(piece.offset + piece.count, layout.part * n_ranks);
      EXPECT_EQ(layout.dtype, parameters[piece.parameter].dtype());
      EXPECT_EQ(covered[piece.parameter], piece.begin);
      covered[piece.parameter] += piece.count;
      owned[static_cast<std::size_t>(layout.owner(piece))] += piece.count;
      ranges.emplace_back(piece.offset, piece.offset + piece.count);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      EXPECT_LE(ranges[i - 1].second, ranges[i].first);
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_EQ(covered[i], parameters[i].numel());
  return owned;
}

std::int64_t total_of(const std::vector<Tensor>& parameters) {
  std::int64_t total = 0;
  for (const Tensor& parameter : parameters) total += parameter.numel();
  return total;
}

TEST(GradientBuckets, ElementsAreSplitEvenly) {
  const auto parameters = parameters_of({{1000, 77}, {64}, {1}, {0}, {33, 65}, {5000}});
  for (const int n_ranks : {1, 2, 3, 8}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{20'000}}) {
      BucketOptions options;
      options.n_ranks = n_ranks;
      options.bytes = bytes;
      const auto layouts = plan_buckets(parameters, options);
      const auto owned = expect_valid(layouts, parameters, n_ranks);
      if (bytes == 1) continue;  // a bucket for each: small ones have one owner
      const auto most = *std::max_element(owned.begin(), owned.end());
      EXPECT_LE(most * n_ranks, total_of(parameters) * 1.05);
    }
  }
}

// GPT-2's matrices: every rank owns whole ones, about equally many elements.
TEST(GradientBuckets, MatricesStayWhole) {
  std::vector<Shape> shapes;
  for (int layer = 0; layer < 12; ++layer) {
    for (const Shape& shape : {Shape{96, 32}, Shape{32, 32}, Shape{128, 32}, Shape{32, 128}}) {
      shapes.push_back(shape);
    }
  }
  const auto parameters = parameters_of(shapes, DType::bf16);
  for (const int n_ranks : {2, 3, 8}) {
    BucketOptions options;
    options.n_ranks = n_ranks;
    options.bytes = 1000;
    options.whole.assign(parameters.size(), true);
    const auto layouts = plan_buckets(parameters, options);
    EXPECT_GT(layouts.size(), 1u);
    const auto owned = expect_valid(layouts, parameters, n_ranks);
    for (const std::int64_t count : owned) {
      EXPECT_LE(static_cast<double>(count) * n_ranks,
                1.15 * static_cast<double>(total_of(parameters)));
    }
    for (const BucketLayout& layout : layouts) {
      for (const BucketPiece& piece : layout.pieces) {
        EXPECT_EQ(piece.count, parameters[piece.parameter].numel());
      }
    }
  }
}

TEST(GradientBuckets, LastParametersComeFirst) {
  const auto parameters = parameters_of({{100}, {100}, {100}});
  BucketOptions options;
  options.n_ranks = 2;
  options.bytes = 1;
  const auto layouts = plan_buckets(parameters, options);
  ASSERT_EQ(layouts.size(), 3u);
  for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(layouts[b].pieces[0].parameter, 2 - b);
}

TEST(GradientBuckets, KindsAndDtypesAreSeparate) {
  auto parameters = parameters_of({{10}, {10}, {10}});
  parameters.push_back(Tensor::empty({10}, DType::bf16));
  BucketOptions options;
  options.n_ranks = 2;
  options.kinds = {0, 1, 0, 0};
  EXPECT_EQ(plan_buckets(parameters, options).size(), 3u);
}

}  // namespace
}  // namespace causeway::train
