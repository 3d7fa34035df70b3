// Distributed fits: any split of the rows gives the artefact of a single fit, estimates are within
// their bound, counts do not overflow, and incompatible parts do not merge.
#include "causeway/tokenizer/streaming/streaming.h"

#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"
#include "tests/tokenizer/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace causeway {
namespace {

using data_test::failure;
using data_test::says;
using namespace tokenizer;
using namespace tokenizer_test;

// Round trip through the file content.
PartialFit sent(const PartialFit& part) { return PartialFit::from_state(part.state(), "part"); }

PartialFit merged(const std::vector<PartialFit>& parts, std::mt19937_64& engine) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), engine);
  PartialFit all = sent(parts[order[0]]);
  for (std::size_t i = 1; i < order.size(); ++i) all.merge(sent(parts[order[i]]));
  return all;
}

// Each part as on its own machine; only parts and plans are exchanged.
Tokenizer fit_apart(const std::vector<Table>& tables, const Options& chosen, std::int64_t memory,
                    int* n_passes = nullptr) {
  std::mt19937_64 engine(tables.size());
  std::vector<PartialFit> parts;
  for (const Table& table : tables) {
    parts.push_back(PartialFit::begin(table, chosen));
    parts.back().count(table);
  }
  PartialFit lead = merged(parts, engine);
  lead.plan(memory);
  int passes = 2;
  for (; lead.needs_another_pass(); ++passes) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      parts[i] = sent(lead).fresh();
      parts[i].count(tables[i]);
    }
    lead = merged(parts, engine);
    lead.plan(memory);
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    parts[i] = sent(lead).fresh();
    parts[i].collect(tables[i]);
  }
  if (n_passes != nullptr) *n_passes = passes;
  return merged(parts, engine).finish();
}

// Splits the rows at random; some parts are empty.
std::vector<Table> cut(const Tensor& matrix, std::size_t n_parts, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int64_t> cuts{0, matrix.size(0)};
  while (cuts.size() <= n_parts) {
    cuts.push_back(
        static_cast<std::int64_t>(uniform(engine) * static_cast<double>(matrix.size(0) + 1)));
    if (cuts.size() <= n_parts && cuts.size() % 3 == 0) cuts.push_back(cuts.back());
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Table> tables;
  for (std::size_t i = 0; i < n_parts; ++i) {
    tables.emplace_back(matrix.slice(0, cuts[i], cuts[i + 1]));
  }
  return tables;
}

TEST(Partial, AnySplitEqualsASingleFit) {
  for (const DType dtype : binned_types()) {
    for (const std::int64_t n_rows : cases<std::int64_t>({1, 2, 33, 30001}, {2, 3001})) {
      const Tensor matrix = as_type(matrix_of_kinds(n_rows, 14), dtype);
      for (const std::int64_t bins : cases<std::int64_t>({1, 64, 1000}, {64})) {
        const std::string whole = Tokenizer::fit(Table(matrix), options(bins)).to_json();
        for (const std::size_t n_parts : {1u, 2u, 7u}) {
          EXPECT_EQ(fit_apart(cut(matrix, n_parts, n_parts), options(bins), 1 << 30).to_json(),
                    whole)
              << to_string(dtype) << ", " << n_rows << " rows, " << n_parts << " parts";
        }
      }
    }
  }
}

TEST(GpuPartial, MixedDevices) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor matrix = matrix_of_kinds(30001, 14).to(DType::f32);
  const Tensor there = matrix.to(Device::cuda());
  EXPECT_EQ(fit_apart({Table(matrix.slice(0, 0, 9000)), Table(there.slice(0, 9000, 30001))},
                      options(64), 1 << 30)
                .to_json(),
            Tokenizer::fit(Table(matrix), options(64)).to_json());
}

TEST(Partial, EveryMethodAndClosedSide) {
  const Tensor matrix = matrix_of_kinds(5003, 15);
  for (int method = 0; method < 9; ++method) {
    Options chosen = options(50);
    chosen.quantile = static_cast<QuantileMethod>(method);
    chosen.closed = method % 2 == 0 ? Closed::right : Closed::left;
    chosen.duplicates = method % 3 == 0 ? Duplicates::keep : Duplicates::drop;
    chosen.statistics = method != 4;
    EXPECT_EQ(fit_apart(cut(matrix, 4, 2), chosen, 1 << 30).to_json(),
              Tokenizer::fit(Table(matrix), chosen).to_json())
        << method;
  }
}

// Sorted rows: the parts' ranges do not overlap.
TEST(Partial, SortedRowsInTwoPasses) {
  const Tensor sorted = arange(0.0, 100000.0, 1.0, DType::f64).unsqueeze(1);
  int passes = 0;
  EXPECT_EQ(fit_apart(cut(sorted, 9, 3), options(16), 200000, &passes).to_json(),
            Tokenizer::fit(Table(sorted), options(16)).to_json());
  EXPECT_EQ(passes, 2);
}

TEST(Partial, LittleMemoryNeedsMorePasses) {
  const Tensor matrix = matrix_of_kinds(60001, 16);
  int passes = 0;
  EXPECT_EQ(fit_apart(cut(matrix, 3, 4), options(64), 100000, &passes).to_json(),
            Tokenizer::fit(Table(matrix), options(64)).to_json());
  EXPECT_GT(passes, 2);
}

TEST(Partial, UniformAndGivenEdges) {
  Tensor matrix = as_type(matrix_of_kinds(20011, 17), DType::i32).to(DType::f64);
  for (std::int64_t i = 0; i < 20011; i += 5) matrix.data_as<double>()[i * 11 + 1] = NAN;
  Options chosen = options(40);
  chosen.strategy = Strategy::uniform;
  chosen.columns["2"].edges = {-INFINITY, 999, 1000, 1000.5, 1001, 5000};
  chosen.columns["3"].strategy = Strategy::quantile;
  chosen.columns["4"].edges = {0, 1, 1e300};
  for (const Closed closed : {Closed::left, Closed::right}) {
    chosen.closed = closed;
    EXPECT_EQ(fit_apart(cut(matrix, 5, 5), chosen, 1 << 30).to_json(),
              Tokenizer::fit(Table(matrix), chosen).to_json());
  }
  const Tensor endless = matrix_of_kinds(100, 1);
  Options even = options(4);
  even.strategy = Strategy::uniform;
  EXPECT_TRUE(says(failure([&] { (void)fit_apart(cut(endless, 2, 1), even, 1 << 30); }),
                   "invalid_argument: [tokenizer.fit]", "requires finite values"));
}

// Text, booleans and dates next to numbers.
Table mixed(std::int64_t n_rows, std::int64_t first) {
  struct Held {
    std::string bytes;
    std::vector<std::int64_t> offsets{0};
  };
  const auto held = std::make_shared<Held>();
  std::vector<TableColumn> columns(4);
  columns[0].name = "number";
  columns[0].numbers = Tensor::empty({n_rows}, DType::f32);
  columns[1].name = "word";
  columns[1].type = ValueType::text;
  columns[1].missing = Tensor::empty({n_rows}, DType::boolean);
  columns[2].name = "truth";
  columns[2].numbers = Tensor::empty({n_rows}, DType::boolean);
  columns[3].name = "day";
  columns[3].type = ValueType::time;
  columns[3].numbers = Tensor::empty({n_rows}, DType::i64);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const std::int64_t row = first + i;
    columns[0].numbers.data_as<float>()[i] =
        row % 11 == 0 ? NAN : static_cast<float>(row * 7919 % 1013);
    held->bytes += "w" + std::to_string(row * row % 97);
    held->offsets.push_back(std::ssize(held->bytes));
    columns[1].missing.data_as<bool>()[i] = row % 13 == 0;
    columns[2].numbers.data_as<bool>()[i] = row % 3 == 0;
    columns[3].numbers.data_as<std::int64_t>()[i] = 86400 * 100 * row + (row == 4000 ? 60 : 0);
  }
  columns[1].text = Text{held->bytes.data(), held->offsets.data(), held};
  return Table(std::move(columns), n_rows);
}

TEST(Partial, CategoriesBooleansAndDates) {
  Options chosen = options(16);
  chosen.min_count = 30;
  chosen.max_categories = 40;
  const std::string whole = Tokenizer::fit(mixed(5000, 0), chosen).to_json();
  EXPECT_EQ(
      fit_apart({mixed(1, 0), mixed(0, 1), mixed(2999, 1), mixed(2000, 3000)}, chosen, 1 << 30)
          .to_json(),
      whole);
  Options never = chosen;
  never.missing = MissingRule::never;
  EXPECT_TRUE(says(failure([&] {
                     (void)fit_apart({mixed(50, 0), mixed(9, 50)}, never, 1 << 30);
                   }),
                   "invalid_argument: [tokenizer.fit]", "missing is \"never\""));
}

// A part whose column is empty does not determine its type.
TEST(Partial, EmptyPartsTakeTheTypesOfOthers) {
  const Tensor numbers = arange(0.0, 50.0, 1.0, DType::i64).unsqueeze(1);
  const Tensor none = full({10, 1}, NAN, DType::f32);
  const auto tok =
      fit_apart({Table(none), Table(numbers), Table(none.slice(0, 0, 0))}, options(4), 1 << 30);
  EXPECT_EQ(tok.columns()[0].dtype, "i64");
  EXPECT_EQ(tok.columns()[0].n_missing, 10);
  EXPECT_EQ(tok.columns()[0].n_rows, 60);
  EXPECT_EQ(tok.columns()[0].bins.edges,
            Tokenizer::fit(Table(numbers), options(4)).columns()[0].bins.edges);
  EXPECT_TRUE(
      says(failure([&] {
             (void)fit_apart({Table(numbers), Table(numbers.to(DType::f64))}, options(4), 1 << 30);
           }),
           "invalid_argument: [tokenizer.merge]", "numeric of i64"));
  EXPECT_EQ(fit_apart({Table(none), Table(none)}, options(4), 1 << 30).to_json(),
            Tokenizer::fit(Table(full({20, 1}, NAN, DType::f32)), options(4)).to_json());
}

// Distance from a rank to the ranks that an edge has among the values.
std::int64_t rank_distance(const std::vector<double>& sorted, double edge, double rank) {
  const auto range = std::equal_range(sorted.begin(), sorted.end(), edge);
  const auto first = static_cast<double>(range.first - sorted.begin());
  const auto last = static_cast<double>(range.second - sorted.begin());
  return static_cast<std::int64_t>(std::max({0.0, first - rank, rank - last}));
}

TEST(Partial, OnePassEstimatesAreWithinTheirBound) {
  const std::int64_t n = 200003, bins = 64;
  const Tensor matrix = matrix_of_kinds(n, 18);
  Options chosen = options(bins);
  chosen.duplicates = Duplicates::keep;
  std::vector<PartialFit> parts;
  for (const Table& table : cut(matrix, 6, 6)) {
    parts.push_back(PartialFit::begin(table, chosen));
    parts.back().count(table);
  }
  std::mt19937_64 engine(1);
  const PartialFit all = merged(parts, engine);
  const auto bounds = all.rank_errors();
  const Tokenizer tok = all.estimate();
  for (int other = 0; other < 3; ++other) {  // in any order of the parts
    EXPECT_EQ(merged(parts, engine).estimate().to_json(), tok.to_json());
  }
  for (std::size_t c = 0; c < kinds().size(); ++c) {
    auto values = matrix.select(1, static_cast<std::int64_t>(c)).to_vector<double>();
    std::erase_if(values, [](double value) { return std::isnan(value); });
    std::sort(values.begin(), values.end());
    EXPECT_LT(bounds[c], 0.005) << kinds()[c].name;
    const auto all_values = static_cast<double>(values.size());
    std::int64_t worst = 0;
    for (std::int64_t i = 0; i <= bins; ++i) {
      const double rank = (all_values - 1) * static_cast<double>(i) / bins;
      worst = std::max(worst, rank_distance(values, tok.columns()[c].bins.edges[i], rank));
    }
    EXPECT_LE(static_cast<double>(worst), bounds[c] * all_values + 1) << kinds()[c].name;
    // The bound is not vacuous.
    if (c == 0) {
      EXPECT_GT(static_cast<double>(worst), bounds[c] * all_values / 100);
    }
  }
}

// Parts merged with themselves repeatedly: more than 2^32 rows, without more memory.
TEST(Partial, MoreThan32BitsOfRows) {
  const int doublings = 24;
  const std::int64_t n_rows = 1000, times = std::int64_t{1} << doublings;
  Tensor matrix = Tensor::empty({n_rows, 2}, DType::f32);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    matrix.data_as<float>()[2 * i] = static_cast<float>(i % 8);
    matrix.data_as<float>()[2 * i + 1] = i % 100 == 0 ? NAN : static_cast<float>(i % 5);
  }
  Options chosen = options(4);
  chosen.quantile = QuantileMethod::inverted_cdf;
  chosen.columns["1"].kind = ColumnKind::categorical;
  PartialFit part = PartialFit::begin(Table(matrix), chosen);
  part.count(Table(matrix));
  for (int i = 0; i < doublings; ++i) part.merge(sent(part));
  EXPECT_EQ(part.n_rows(), n_rows * times);
  EXPECT_GT(part.n_rows(), std::int64_t{3} << 32);
  EXPECT_EQ(part.estimate().columns()[0].bins.edges,
            Tokenizer::fit(Table(matrix), chosen).columns()[0].bins.edges);
  part.plan(1000);  // eight distinct values, each its own interval: nothing to collect
  ASSERT_FALSE(part.needs_another_pass());
  part.collect(Table(matrix));
  for (int i = 0; i < doublings; ++i) part.merge(sent(part));
  const Tokenizer tok = part.finish();
  const Tokenizer once = Tokenizer::fit(Table(matrix), chosen);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(tok.columns()[c].n_rows, n_rows * times);
    EXPECT_EQ(tok.columns()[c].n_missing, once.columns()[c].n_missing * times);
  }
  EXPECT_EQ(tok.columns()[0].bins.edges, once.columns()[0].bins.edges);
  EXPECT_EQ(tok.columns()[0].bins.medians, once.columns()[0].bins.medians);
  for (std::size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(tok.columns()[0].bins.counts[b], once.columns()[0].bins.counts[b] * times);
  }
  EXPECT_EQ(tok.columns()[1].vocabulary.counts()[0],
            once.columns()[1].vocabulary.counts()[0] * times);
  const Tokenizer read = Tokenizer::from_json(tok.to_json());
  EXPECT_EQ(read.to_json(), tok.to_json());
}

TEST(Partial, RejectsIncompatibleParts) {
  const Tensor matrix = matrix_of_kinds(500, 19);
  const auto count = [&](const Table& table, const Options& chosen) {
    PartialFit part = PartialFit::begin(table, chosen);
    part.count(table);
    return part;
  };
  const PartialFit part = count(Table(matrix), options(8));
  const auto merge = [&](const PartialFit& a, const PartialFit& b) {
    return failure([&] {
      PartialFit both = a;
      both.merge(b);
    });
  };
  const char* kind = "invalid_argument: [tokenizer.merge]";
  EXPECT_TRUE(says(merge(part, count(Table(matrix), options(9))), kind, "bins is 8 in one and 9"));
  EXPECT_TRUE(says(merge(part, count(Table(matrix.slice(1, 0, 2)), options(8))), kind, "columns"));
  PartialFit plan = part, other = part;
  plan.plan(1 << 30);
  EXPECT_TRUE(
      says(merge(part, plan), kind, "one part is of the first pass and another of the second"));
  other.merge(part);
  other.plan(1 << 30);
  EXPECT_TRUE(says(merge(plan, other), kind, "different plans"));
  PartialFit collected = plan.fresh();
  collected.collect(Table(matrix.slice(0, 0, 400)));
  EXPECT_TRUE(says(failure([&] { (void)collected.finish(); }), "invalid_argument: [tokenizer.fit]",
                   "500 rows but 400 were collected"));
  collected.merge(collected.fresh());
  PartialFit twice = collected;
  twice.merge(collected);
  EXPECT_TRUE(says(failure([&] { (void)twice.finish(); }), "invalid_argument: [tokenizer.fit]",
                   "every part once"));
  PartialFit moved = plan.fresh();
  moved.collect(Table(matrix_of_kinds(500, 20) + 1e6));
  EXPECT_TRUE(says(failure([&] { (void)moved.finish(); }), "invalid_argument: [tokenizer.fit]",
                   "differ from the counted ones"));
  Options tree = options(4);
  tree.strategy = Strategy::tree;
  EXPECT_TRUE(says(failure([&] { (void)PartialFit::begin(Table(matrix), tree); }),
                   "invalid_argument: [tokenizer.fit]", "requires the whole column"));
}

TEST(Partial, RejectsInvalidStates) {
  PartialFit part = PartialFit::begin(mixed(300, 0), options(8));
  part.count(mixed(300, 0));
  const PartialState good = part.state();
  EXPECT_EQ(PartialFit::from_state(good, "a.cwp").state().metadata, good.metadata);
  const auto broken = [](const PartialState& state) {
    return failure([&] { (void)PartialFit::from_state(state, "a.cwp"); });
  };
  const char* kind = "format: [tokenizer.load] \"a.cwp\"";
  for (const auto& [name, tensor] : good.tensors) {
    PartialState bad = good;
    bad.tensors[name] = tensor.clone();
    bad.tensors[name].data_as<std::uint8_t>()[0] ^= 1;
    EXPECT_TRUE(says(broken(bad), kind, "hash")) << name;
    bad.tensors.erase(name);
    EXPECT_TRUE(says(broken(bad), kind, "hash")) << name;
  }
  PartialState bad = good;
  bad.metadata["version"] = "2";
  EXPECT_TRUE(says(broken(bad), kind, "expected version 1, got \"2\""));
  bad = good;
  bad.metadata["fit"][40] ^= 1;
  EXPECT_TRUE(says(broken(bad), kind, "hash"));
  EXPECT_TRUE(says(broken({}), kind, "expected a part"));
}

}  // namespace
}  // namespace causeway
