#include "causeway/data/token_stream.h"

#include "causeway/data/permutation.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

namespace causeway::data {
namespace {

using data_test::failure;
using data_test::says;
using data_test::Scratch;

std::vector<TokenId> counting(std::size_t n, TokenId first = 0) {
  std::vector<TokenId> ids(n);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

std::vector<std::int64_t> read_all(const TokenData& data) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(data.size()));
  data.read(0, ids);
  return ids;
}

TEST(Permutation, VisitsEveryIndexOnce) {
  for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 31, 32, 33, 1000, 65537}) {
    for (const std::uint64_t seed : {0, 1, 99}) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < count; ++i) seen.insert(permuted(i, count, seed, 5));
      EXPECT_EQ(seen.size(), count);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
  }
}

// Every value is equally often at every place, and all orders of four values occur.
TEST(Permutation, IsUniform) {
  std::map<std::vector<std::uint64_t>, int> orders;
  constexpr int kDraws = 24'000;
  for (std::uint64_t number = 0; number < kDraws; ++number) {
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < 4; ++i) order.push_back(permuted(i, 4, 7, number));
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, kDraws / 24, 250);
}

TEST(TokenData, ConcatenatesShards) {
  const Scratch scratch;
  write_token_file(scratch / "a.bin", counting(5), 300);
  write_token_file(scratch / "b.bin", counting(1, 5), 70'000);
  write_token_file(scratch / "c.bin", counting(4, 6), 300);
  const std::vector<std::string> folder{scratch.folder().string()};
  const TokenData data = TokenData::open(folder);
  EXPECT_EQ(data.size(), 10);
  for (std::int64_t begin = 0; begin < 10; ++begin) {
    for (std::int64_t end = begin; end <= 10; ++end) {
      std::vector<std::int64_t> ids(static_cast<std::size_t>(end - begin), -1);
      data.read(begin, ids);
      for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(ids[i], begin + static_cast<std::int64_t>(i));
    }
  }
  const std::vector<std::string> glob{(scratch / "[ac].bin").string()};
  EXPECT_EQ(TokenData::open(glob).size(), 9);
  EXPECT_TRUE(says(failure([&] { TokenData::open(folder, 9); }), "format:", "c.bin\": token 3"));
  const std::vector<std::string> none{(scratch / "*.txt").string()};
  EXPECT_TRUE(
      says(failure([&] { TokenData::open(none); }), "invalid_argument:", "no file to read"));
}

TEST(TokenData, SplitsAtTheEnd) {
  const auto [train, validation] = TokenData::from(counting(10)).split_end(0.3);
  EXPECT_EQ(read_all(train), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_all(validation), (std::vector<std::int64_t>{7, 8, 9}));
}

TEST(TokenData, SplitsByDocuments) {
  const Scratch scratch;
  std::vector<TokenId> ids;
  for (TokenId document = 0; document < 1000; ++document) {
    ids.push_back(2000);
    ids.insert(ids.end(), 1 + document % 5, document);
  }
  write_token_file(scratch / "a.bin", std::span(ids).first(700), 2001);
  write_token_file(scratch / "b.bin", std::span(ids).subspan(700), 2001);
  const std::vector<std::string> folder{scratch.folder().string()};
  const auto [train, validation] = TokenData::open(folder).split_documents(0.2, 2000, 3);
  const auto in_memory = TokenData::from(ids).split_documents(0.2, 2000, 3);
  EXPECT_EQ(read_all(train), read_all(in_memory.first));
  EXPECT_EQ(read_all(validation), read_all(in_memory.second));
  EXPECT_EQ(train.size() + validation.size(), std::ssize(ids));
  const auto documents = [](const TokenData& data) {
    std::map<std::int64_t, int> count;
    for (const std::int64_t id : read_all(data)) ++count[id];
    return count;
  };
  auto one = documents(train), other = documents(validation);
  EXPECT_EQ(one[2000] + other[2000], 1000);
  EXPECT_NEAR(other[2000], 200, 40);
  for (std::int64_t document = 0; document < 1000; ++document) {
    EXPECT_EQ(one.contains(document) + other.contains(document), 1) << document;
    EXPECT_EQ(std::max(one[document], other[document]), 1 + document % 5);
  }
}

TEST(TokenStream, UsesEveryTokenOnceAnEpoch) {
  TokenStream stream(TokenData::from(counting(7 * 12 + 1)), {.batch = 3, .length = 7, .seed = 5});
  EXPECT_EQ(stream.windows_per_epoch(), 12);
  EXPECT_EQ(stream.steps_per_epoch(), 4);
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (std::int64_t step = 0; step < 8; ++step) {
    const TokenBatch batch = stream.batch(step);
    const auto tokens = batch.tokens.to_vector<std::int64_t>();
    const auto targets = batch.targets.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(targets[i], tokens[i] + 1);
    auto& epoch = epochs[static_cast<std::size_t>(step / 4)];
    epoch.insert(epoch.end(), tokens.begin(), tokens.end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    EXPECT_FALSE(std::is_sorted(epoch.begin(), epoch.end()));
    std::sort(epoch.begin(), epoch.end());
    for (std::size_t i = 0; i < epoch.size(); ++i)
      EXPECT_EQ(epoch[i], static_cast<std::int64_t>(i));
  }
}

TEST(TokenStream, LeavesOutOtherTokensInOtherEpochs) {
  TokenStream stream(TokenData::from(counting(10 * 4 + 9)), {.batch = 4, .length = 10, .seed = 1});
  std::set<std::int64_t> firsts;
  for (std::int64_t step = 0; step < 50; ++step) {
    const auto tokens = stream.batch(step).tokens.to_vector<std::int64_t>();
    const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
    EXPECT_EQ(*most - *least, 39);
    firsts.insert(*least);
  }
  EXPECT_EQ(firsts.size(), 9u);  // 0 to 8
}

TEST(TokenStream, StepsDependOnNothingElse) {
  const TokenData data = TokenData::from(counting(1001));
  const TokenStreamOptions options{.batch = 4, .length = 10, .seed = 9};
  TokenStream in_order(data, options);
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t step = 0; step < 60; ++step)
    expected.push_back(in_order.batch(step).tokens.to_vector<std::int64_t>());
  TokenStream other(data, options);
  for (const std::size_t step : {59, 0, 30, 31, 32, 5, 5, 58}) {
    EXPECT_EQ(other.batch(static_cast<std::int64_t>(step)).tokens.to_vector<std::int64_t>(),
              expected[step]);
  }
  TokenStream reseeded(data, {.batch = 4, .length = 10, .seed = 10});
  EXPECT_NE(reseeded.batch(0).tokens.to_vector<std::int64_t>(), expected[0]);
}

// The bytes of a seed do not change between versions.
TEST(TokenStream, GoldenOrder) {
  TokenStream stream(TokenData::from(counting(101)), {.batch = 10, .length = 10, .seed = 42});
  const Tensor tokens = stream.batch(1).tokens;
  std::vector<std::int64_t> firsts;
  for (std::int64_t row = 0; row < 10; ++row)
    firsts.push_back(tokens.select(0, row).select(0, 0).item_integer());
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{30, 80, 0, 70, 90, 50, 20, 60, 10, 40}));
}

TEST(TokenStream, RanksShareTheGlobalBatch) {
  const TokenData data = TokenData::from(counting(500));
  TokenStream whole(data, {.batch = 6, .length = 8, .seed = 2});
  for (const int n_ranks : {2, 3, 6}) {
    for (std::int64_t step : {0, 7, 23}) {
      std::vector<std::int64_t> joined;
      for (int rank = 0; rank < n_ranks; ++rank) {
        TokenStream part(data,
                         {.batch = 6, .length = 8, .seed = 2, .rank = rank, .n_ranks = n_ranks});
        const auto tokens = part.batch(step).tokens.to_vector<std::int64_t>();
        joined.insert(joined.end(), tokens.begin(), tokens.end());
      }
      EXPECT_EQ(joined, whole.batch(step).tokens.to_vector<std::int64_t>());
    }
  }
}

TEST(TokenStream, InOrderWithoutShuffle) {
  TokenStream stream(TokenData::from(counting(35)), {.batch = 2, .length = 10, .shuffle = false});
  EXPECT_EQ(stream.batch(0).tokens.select(0, 1).select(0, 0).item_integer(), 10);
  EXPECT_EQ(stream.batch(1).tokens.select(0, 0).select(0, 0).item_integer(), 20);
  EXPECT_EQ(stream.batch(1).tokens.select(0, 1).select(0, 0).item_integer(), 0);  // next epoch
}

TEST(TokenStream, MasksTargets) {
  std::vector<bool> excluded(21, false);
  for (const std::size_t i : {0, 4, 5, 20}) excluded[i] = true;
  TokenStream stream(TokenData::from(counting(21), excluded),
                     {.batch = 2, .length = 10, .shuffle = false});
  const TokenBatch batch = stream.batch(0);
  const auto tokens = batch.tokens.to_vector<std::int64_t>();
  const auto targets = batch.targets.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(tokens[i], static_cast<std::int64_t>(i));  // inputs are not masked
    EXPECT_EQ(targets[i], excluded[i + 1] ? kIgnoredTarget : static_cast<std::int64_t>(i + 1));
  }
}

TEST(TokenStream, RefusesBadOptions) {
  const TokenData data = TokenData::from(counting(20));
  const auto refused = [&](const TokenStreamOptions& options) {
    return failure([&] { TokenStream(data, options); });
  };
  EXPECT_EQ(refused({.batch = 1, .length = 19}), "");
  EXPECT_TRUE(says(refused({.batch = 1, .length = 20}), "invalid_argument:", "need 21 or more"));
  EXPECT_TRUE(says(refused({.batch = 3, .length = 4, .n_ranks = 2}), "invalid_argument:", "3"));
  EXPECT_TRUE(says(refused({.batch = 0, .length = 4}), "invalid_argument:", "batch 0"));
  EXPECT_TRUE(says(refused({.batch = 2, .length = 0}), "invalid_argument:", "length 0"));
  EXPECT_TRUE(says(refused({.batch = 2, .length = 4, .rank = 2, .n_ranks = 2}),
                   "invalid_argument:", "rank 2 of 2"));
  TokenStream stream(data, {.batch = 1, .length = 4});
  EXPECT_TRUE(says(failure([&] { stream.batch(-1); }), "invalid_argument:", "step -1"));
}

}  // namespace
}  // namespace causeway::data
