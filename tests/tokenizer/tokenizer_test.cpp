// Fit, encode and decode: every value in its bin, all options, and error messages.
#include "causeway/tokenizer/tokenizer.h"

#include "causeway/runtime/pool.h"
#include "causeway/tokenizer/artefact/drift.h"
#include "causeway/tokenizer/artefact/export.h"
#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"
#include "tests/tokenizer/tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway {
namespace {

using namespace tokenizer_test;
using namespace tokenizer;
using data_test::failure;
using data_test::says;

// Reference: bins by comparing with every inner edge in f64.
std::int64_t plain_bin(double value, const Bins& bins) {
  std::int64_t bin = 0;
  for (std::size_t i = 1; i + 1 < bins.edges.size(); ++i) {
    const bool reached =
        bins.closed == Closed::left ? value >= bins.edges[i] : value > bins.edges[i];
    if (reached) ++bin;
  }
  return bin;
}

void check_tokens(const Tokenizer& tok, const Tensor& host, const Tensor& tokens,
                  const std::string& what) {
  const Tensor wide = tokens.to(Device::cpu()).to(DType::i64).contiguous();
  const Tensor values = host.to(DType::f64).contiguous();
  const std::int64_t n_columns = host.size(1);
  for (std::int64_t i = 0; i < host.numel(); ++i) {
    const Slot& slot = tok.slots()[static_cast<std::size_t>(i % n_columns)];
    const Column& column = tok.columns()[static_cast<std::size_t>(i % n_columns)];
    const double value = values.data_as<double>()[i];
    const std::int64_t want =
        std::isnan(value) ? slot.missing_token() : slot.offset + plain_bin(value, column.bins);
    ASSERT_EQ(wide.data_as<std::int64_t>()[i], want)
        << what << ", row " << i / n_columns << ", column " << column.name << ", value " << value;
  }
}

void check_encoding(Device device) {
  for (const DType dtype : binned_types()) {
    const Tensor host = as_type(matrix_of_kinds(3001, 5), dtype);
    for (const auto closed : {Closed::left, Closed::right}) {
      for (const auto duplicates : {Duplicates::drop, Duplicates::keep}) {
        Options chosen = options(40);
        chosen.closed = closed;
        chosen.duplicates = duplicates;
        const Tokenizer tok = Tokenizer::fit(Table(host.to(device)), chosen);
        const std::string what =
            std::string(to_string(dtype)) + " " + std::string(to_string(closed));
        check_tokens(tok, host, tok.encode(Table(host.to(device))), what);
        const Tensor by_columns = host.transpose().contiguous().to(device).transpose();
        check_tokens(tok, host, tok.encode(Table(by_columns)), what + " by columns");
        for (const DType out : {DType::u16, DType::i32}) {
          check_tokens(tok, host, tok.encode(Table(by_columns), {out, {}}), what + " wide");
        }
        const Tensor odd = by_columns.slice(0, 1, Tensor::kEnd, 3);
        check_tokens(tok, host.slice(0, 1, Tensor::kEnd, 3), tok.encode(Table(odd)),
                     what + " stepped");
      }
    }
  }
}

TEST(Tokenizer, EveryValueIsInItsBin) { check_encoding(Device::cpu()); }
TEST(GpuTokenizer, EveryValueIsInItsBin) {
  CAUSEWAY_REQUIRE_GPU();
  check_encoding(Device::cuda());
}

constexpr std::uint64_t kTokensHash = 16479900346989743530ull;
constexpr std::uint64_t kLinearHash = 6673921046945205740ull;

// A fit and its tokens must have the same bytes on every device.
std::vector<std::uint64_t> golden(Device device) {
  Generator generator(20261115);
  const Tensor matrix = generator.normal({10007, 6}, 3, 2, DType::f32, device);
  const Tokenizer tok = Tokenizer::fit(Table(matrix), options(256));
  std::vector<std::uint64_t> hashes{hash_of(tok.encode(Table(matrix)).contiguous()),
                                    hash_of(tok.piecewise_linear(Table(matrix))),
                                    hash_of(tok.one_hot(Table(matrix)))};
  for (const Column& column : tok.columns()) {
    for (const auto* list : {&column.bins.edges, &column.bins.medians}) {
      hashes.push_back(
          hash_of(Tensor::from<double>(*list, {static_cast<std::int64_t>(list->size())})));
    }
  }
  return hashes;
}

TEST(GpuTokenizer, SameBitsAsTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  EXPECT_EQ(golden(Device::cuda()), golden(Device::cpu()));
}

TEST(Tokenizer, GoldenHashes) {
  EXPECT_EQ(golden(Device::cpu())[0], kTokensHash);
  EXPECT_EQ(golden(Device::cpu())[1], kLinearHash);
}

TEST(GpuTokenizer, ManyBinsAndManyColumns) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(3);
  for (const auto& [rows, columns, bins] : cases<std::array<std::int64_t, 3>>(
           {{50000, 3, 60000}, {4001, 300, 64}, {100, 1, 2}}, {{5000, 2, 6000}, {401, 300, 64}})) {
    const Tensor host = generator.normal({rows, columns});
    for (const Tensor& matrix :
         {host.to(Device::cuda()), host.transpose().contiguous().to(Device::cuda()).transpose()}) {
      const Tokenizer tok = Tokenizer::fit(Table(matrix), options(bins));
      expect_same_bytes(tok.encode(Table(matrix)), tok.encode(Table(host)), "tokens");
    }
  }
}

TEST(Tokenizer, CountsAndMediansMatchTheBins) {
  const Tensor host = matrix_of_kinds(2003, 9);
  for (const auto strategy : {Strategy::quantile, Strategy::kmeans}) {
    Options chosen = options(12);
    chosen.strategy = strategy;
    const Tensor used = strategy == Strategy::quantile ? host : host.slice(1, 0, 9);
    const Tokenizer tok = Tokenizer::fit(Table(used), chosen);
    const auto counted = tok.count_tokens(Table(used));
    for (std::size_t s = 0; s < tok.slots().size(); ++s) {
      EXPECT_EQ(counted[s], tok.slots()[s].counts) << tok.slots()[s].name;
      const Bins& bins = tok.columns()[s].bins;
      for (std::int64_t b = 0; b < bins.n_bins(); ++b) {
        if (bins.counts[static_cast<std::size_t>(b)] == 0) continue;
        const double median = bins.medians[static_cast<std::size_t>(b)];
        EXPECT_GE(median, bins.edges[static_cast<std::size_t>(b)]);
        EXPECT_LE(median, bins.edges[static_cast<std::size_t>(b) + 1]);
      }
    }
  }
}

TEST(Tokenizer, RoundTripStaysInTheBin) {
  const Tensor host = matrix_of_kinds(1501, 11);
  const Tokenizer tok = Tokenizer::fit(Table(host), options(32));
  const Tensor tokens = tok.encode(Table(host));
  const auto ranges = tok.decode(tokens, Decoding::range);
  const auto values = host.to_vector<double>();
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    for (std::size_t row = 0; row < ranges[c].numbers.size(); ++row) {
      const double value = values[row * ranges.size() + c];
      ASSERT_EQ(ranges[c].missing[row], std::isnan(value));
      if (std::isnan(value)) continue;
      EXPECT_LE(ranges[c].numbers[row], value);
      EXPECT_GE(ranges[c].high[row], value);
    }
  }
  for (const auto how : {Decoding::centre, Decoding::median}) {
    std::vector<TableColumn> again;
    for (const DecodedColumn& column : tok.decode(tokens, how)) {
      TableColumn made;
      made.name = column.name;
      made.numbers = Tensor::from<double>(column.numbers, {host.size(0)});
      again.push_back(std::move(made));
    }
    // The centre of an empty bin may be its edge; tokens then differ by rounding.
    const auto tokens_again = tok.encode(Table(again, host.size(0))).to_vector<std::uint8_t>();
    const auto first = tokens.to_vector<std::uint8_t>();
    std::int64_t differing = 0;
    for (std::size_t i = 0; i < first.size(); ++i) differing += first[i] != tokens_again[i] ? 1 : 0;
    EXPECT_LT(differing, static_cast<std::int64_t>(first.size()) / 50);
  }
}

// Values shared by many rows: a bin's median must not belong to its neighbour.
TEST(Tokenizer, MediansOfTiesStayInTheirBins) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i % 10 < 6 ? 5 : i % 40);
  for (const Closed closed : {Closed::left, Closed::right}) {
    for (const Duplicates duplicates : {Duplicates::drop, Duplicates::keep}) {
      for (const std::int64_t bins : {3, 4, 7, 16}) {
        Options chosen = options(bins);
        chosen.closed = closed;
        chosen.duplicates = duplicates;
        const Table table(Tensor::from<double>(values, {1000, 1}));
        const Tokenizer tok = Tokenizer::fit(table, chosen);
        const Tensor tokens = tok.encode(table);
        TableColumn made;
        made.name = tok.columns()[0].name;
        made.numbers =
            Tensor::from<double>(tok.decode(tokens, Decoding::median)[0].numbers, {1000});
        expect_same_bytes(tok.encode(Table({made}, 1000)), tokens, fmt::format("{} bins", bins));
      }
    }
  }
}

TEST(Tokenizer, GlobalTokensAreConsecutive) {
  Options chosen = options(8);
  chosen.global = true;
  chosen.special_tokens = {"[PAD]", "[CLS]"};
  chosen.missing = MissingRule::always;
  Generator generator(1);
  const Tensor matrix = generator.normal({100, 3});
  const Tokenizer tok = Tokenizer::fit(Table(matrix), chosen);
  EXPECT_EQ(tok.slots()[0].offset, 2);
  EXPECT_EQ(tok.slots()[1].offset, 2 + 9);
  EXPECT_EQ(tok.n_tokens(), 2 + 3 * 9);
  const auto list = tok.encode(Table(matrix)).to_vector<std::uint8_t>();
  for (std::size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ((list[i] - 2) / 9, static_cast<int>(i % 3));
  const auto json = nlohmann::json::parse(export_hugging_face(tok));
  EXPECT_EQ(json["model"]["vocab"]["0_0"], 2);
  EXPECT_EQ(json["model"]["vocab"]["1_[NAN]"], 2 + 9 + 8);
}

TEST(Tokenizer, MissingWithoutATokenIsAnError) {
  const Tensor matrix = full({5, 2}, 1.0);
  const Tokenizer tok = Tokenizer::fit(Table(matrix), options(4));
  Tensor other = matrix.clone();
  other.data_as<float>()[2 * 3 + 1] = NAN;
  EXPECT_TRUE(says(failure([&] { (void)tok.encode(Table(other)); }),
                   "invalid_argument: [tokenizer.encode] column 1: the value in row 3 is missing",
                   "missing=\"always\""));
  Options never = options(4);
  never.missing = MissingRule::never;
  EXPECT_TRUE(says(failure([&] { (void)Tokenizer::fit(Table(other), never); }),
                   "invalid_argument: [tokenizer.fit] column \"1\": 1 of 5 values are missing"));
}

TEST(GpuTokenizer, MissingWithoutATokenIsAnError) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor matrix = full({5, 2}, 1.0);
  const Tokenizer tok = Tokenizer::fit(Table(matrix), options(4));
  Tensor other = matrix.clone();
  other.data_as<float>()[2 * 3 + 1] = NAN;
  EXPECT_TRUE(says(failure([&] {
                     (void)tok.encode(Table(other.to(Device::cuda())));
                     current_stream(Device::cuda()).synchronize();
                   }),
                   "invalid_argument: [tokenizer.encode] column 1: the value in row 3 is missing"));
}

TEST(Tokenizer, RejectsInvalidOptionsAndTables) {
  const Table table(full({5, 2}, 1.0));
  EXPECT_TRUE(says(failure([&] { (void)Tokenizer::fit(table, options(0)); }),
                   "invalid_argument: [tokenizer] bins must be from 1 to 65535, got 0"));
  EXPECT_TRUE(says(failure([&] {
                     (void)Tokenizer::fit(Table(full({0, 2}, 1.0)), options(4));
                   }),
                   "invalid_argument: [tokenizer.fit] cannot fit a table of 0 rows"));
  EXPECT_TRUE(says(failure([&] { (void)Table(full({5}, 1.0)); }), "shape_mismatch: [table]"));
  Options strict = options(4);
  strict.duplicates = Duplicates::error;
  EXPECT_TRUE(says(failure([&] { (void)Tokenizer::fit(table, strict); }),
                   "invalid_argument: [tokenizer.fit] column \"0\": edges 0 and 1 are both 1"));
  Options unknown = options(4);
  unknown.columns["x"].bins = 3;
  EXPECT_TRUE(says(failure([&] { (void)Tokenizer::fit(table, unknown); }),
                   "invalid_argument: [tokenizer.fit] options are given for column \"x\""));
  Options tree = options(4);
  tree.strategy = Strategy::tree;
  EXPECT_TRUE(
      says(failure([&] { (void)Tokenizer::fit(table, tree); }),
           "invalid_argument: [tokenizer.fit] column \"0\": strategy \"tree\" needs a target"));
  const Tokenizer tok = Tokenizer::fit(table, options(4));
  EXPECT_TRUE(says(failure([&] {
                     (void)tok.encode(Table(full({5, 3}, 1.0)));
                   }),
                   "shape_mismatch: [tokenizer.encode] the matrix has 3 columns"));
  EXPECT_TRUE(says(failure([&] {
                     (void)tok.decode(full({2, 2}, 9.0).to(DType::u8));
                   }),
                   "invalid_argument: [tokenizer.decode] token 9 in row 0"));
  EXPECT_EQ(tok.encode(Table(Tensor::empty({0, 2}))).shape(), (Shape{0, 2}));
}

TEST(Tokenizer, EveryFailedAllocationLeavesAllInOrder) {
  const Tensor matrix = matrix_of_kinds(2000, 1);
  Pool& pool = pool_of(Device::cpu());
  const auto work = [&] {
    const Tokenizer tok = Tokenizer::fit(Table(matrix), options(16));
    return hash_of(tok.encode(Table(matrix)));
  };
  const std::uint64_t want = work();
  const std::size_t before = pool.stats().current;
  int failures = 0;
  for (std::uint64_t n = 1; n < 200; ++n) {
    pool.fail_nth(n);
    const std::string words = failure([&] { EXPECT_EQ(work(), want); });
    pool.fail_nth(0);
    EXPECT_EQ(pool.stats().current, before);
    if (words.empty()) break;
    ++failures;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace causeway
