// Categories, booleans and dates; artefact errors; streaming and merging.
#include "causeway/tokenizer/artefact/artefact.h"
#include "causeway/tokenizer/fit/calendar.h"
#include "causeway/tokenizer/artefact/drift.h"
#include "causeway/tokenizer/streaming/streaming.h"
#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"
#include "tests/tokenizer/tables.h"

namespace causeway {
namespace {

using namespace tokenizer_test;
using namespace tokenizer;
using data_test::failure;
using data_test::says;

TableColumn text(const std::string& name, const std::vector<std::string>& values) {
  struct Held {
    std::string bytes;
    std::vector<std::int64_t> offsets{0};
  };
  const auto held = std::make_shared<Held>();
  TableColumn column;
  column.name = name;
  column.type = ValueType::text;
  column.missing = Tensor::empty({static_cast<std::int64_t>(values.size())}, DType::boolean);
  for (std::size_t i = 0; i < values.size(); ++i) {
    held->bytes += values[i];
    held->offsets.push_back(static_cast<std::int64_t>(held->bytes.size()));
    column.missing.data_as<bool>()[i] = values[i] == "?";
  }
  column.text = {held->bytes.data(), held->offsets.data(), held};
  return column;
}

TableColumn times(const std::string& name, const std::vector<std::int64_t>& seconds) {
  TableColumn column;
  column.name = name;
  column.type = ValueType::time;
  column.numbers = Tensor::from<std::int64_t>(seconds, {static_cast<std::int64_t>(seconds.size())});
  return column;
}

Table mixed() {
  TableColumn flags;
  flags.name = "ok";
  flags.numbers =
      Tensor::from<std::uint8_t>(std::vector<std::uint8_t>{1, 0, 1, 1, 1}, {5}).to(DType::boolean);
  // 2026-11-15 07:08:09, 1970-01-01, 2000-02-29, 1969-12-31 23:59:59, 2024-12-31.
  return Table({text("city", {"Rome", "Oslo", "Rome", "?", "Bern"}), flags,
                times("when", {1794726489, 0, 951782400, -1, 1735603200})},
               5);
}

TEST(Columns, Categories) {
  Options chosen = options(4);
  chosen.min_count = 2;
  chosen.unknown_buckets = 3;
  const Table table = mixed();
  const Tokenizer tok = Tokenizer::fit(table, chosen);
  EXPECT_EQ(tok.columns()[0].vocabulary.values(), std::vector<std::string>{"Rome"});
  EXPECT_EQ(tok.slots()[0].n_tokens(), 1 + 3 + 1);
  const Tensor tokens = tok.encode(table);
  const auto city = tokens.select(1, 0).to(DType::i64).to_vector<std::int64_t>();
  EXPECT_EQ(city[0], 0);
  EXPECT_EQ(city[3], 4);
  EXPECT_GE(city[1], 1);
  EXPECT_LE(city[1], 3);
  const auto decoded = tok.decode(tokens);
  EXPECT_EQ(decoded[0].text[0], "Rome");
  EXPECT_EQ(decoded[0].text[1], "[UNK]");
  EXPECT_TRUE(decoded[0].missing[3]);
  EXPECT_EQ(decoded[1].text[1], "false");
}

TEST(Columns, Dates) {
  const Table table = mixed();
  const Tokenizer tok = Tokenizer::fit(table, options(4));
  std::vector<std::string> names;
  for (const Slot& slot : tok.slots()) names.push_back(slot.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"city", "ok", "when.year", "when.month", "when.day",
                                      "when.weekday", "when.hour", "when.minute", "when.second"}));
  const auto decoded = tok.decode(tok.encode(table));
  const std::vector<std::vector<double>> want = {{2026, 1970, 2000, 1969, 2024},
                                                 {11, 1, 2, 12, 12},
                                                 {15, 1, 29, 31, 31},
                                                 {6, 3, 1, 2, 1},
                                                 {7, 0, 0, 23, 0},
                                                 {8, 0, 0, 59, 0},
                                                 {9, 0, 0, 59, 0}};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(decoded[2 + i].numbers, want[i]) << i;
}

TEST(Columns, CalendarRoundTrips) {
  for (std::int64_t day = -1000000; day < 1000000; day += 37) {
    const Moment moment = moment_of(day * 86400 + 3661, 1);
    const Moment next = moment_of((day + 1) * 86400, 1);
    EXPECT_EQ(moment.hour * 3600 + moment.minute * 60 + moment.second, 3661);
    EXPECT_EQ((moment.weekday + 1) % 7, next.weekday);
    const bool new_month = next.day == 1;
    EXPECT_EQ(next.day, new_month ? 1 : moment.day + 1);
  }
}

TEST(Artefact, RoundTrips) {
  Options chosen = options(16);
  chosen.global = true;
  chosen.special_tokens = {"[PAD]"};
  for (const Table& table : {Table(matrix_of_kinds(300, 2)), mixed()}) {
    Tokenizer tok = Tokenizer::fit(table, chosen);
    tok.source = "a \"test\"";
    const Tokenizer again = Tokenizer::from_json(tok.to_json());
    EXPECT_EQ(again.to_json(), tok.to_json());
    expect_same_bytes(again.encode(table), tok.encode(table), "tokens");
  }
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Artefact, RejectsInvalidFiles) {
  const Tokenizer tok =
      Tokenizer::fit(Table(arange(0.0, 100.0, 1.0, DType::f64).unsqueeze(1)), options(4));
  const std::string good = tok.to_json();
  const auto refused = [&](const std::string& text) {
    return failure([&] { (void)Tokenizer::from_json(text, "tok.json"); });
  };
  EXPECT_TRUE(says(refused(changed(good, "\"version\": 1", "\"version\": 2")),
                   "format: [tokenizer.load] \"tok.json\": expected version 1, got"));
  EXPECT_TRUE(says(refused(changed(good, "49.5", "49.25")),
                   "format: [tokenizer.load] \"tok.json\": column 0 \"0\"", "checksum"));
  EXPECT_TRUE(says(
      refused(changed(good, "49.5", "4.5")),
      "format: [tokenizer.load] \"tok.json\": column 0 \"0\": edges must be in ascending order"));
  EXPECT_TRUE(says(refused(good.substr(0, good.size() / 2)),
                   "format: [tokenizer.load] \"tok.json\": not JSON"));
  EXPECT_TRUE(says(refused("[]"), "format: [tokenizer.load] \"tok.json\": expected a tokenizer"));
  EXPECT_TRUE(says(refused(changed(good, "\"closed\"", "\"close\"")), "format: [tokenizer.load]"));
}

TEST(Drift, ZeroOnTheSameData) {
  const Tensor matrix = Generator(1).normal({5000, 2});
  const Tokenizer tok = Tokenizer::fit(Table(matrix), options(10));
  for (const SlotDrift& drift : drift_of(tok, Table(matrix))) EXPECT_EQ(drift.stability_index, 0);
  for (const SlotDrift& drift : drift_of(tok, Table(matrix + 1.0))) {
    EXPECT_GT(drift.stability_index, 0.5);
  }
}

Tokenizer stream(const std::vector<Tensor>& batches, const Options& chosen, std::int64_t memory) {
  PartialFit part = PartialFit::begin(Table(batches[0]), chosen);
  do {
    for (const Tensor& batch : batches) part.count(Table(batch));
    part.plan(memory);
  } while (part.needs_another_pass());
  for (const Tensor& batch : batches) part.collect(Table(batch));
  return part.finish();
}

std::vector<Tensor> cut(const Tensor& matrix, std::int64_t n_parts) {
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < n_parts; ++i) {
    parts.push_back(
        matrix.slice(0, matrix.size(0) * i / n_parts, matrix.size(0) * (i + 1) / n_parts));
  }
  return parts;
}

TEST(Streaming, EqualsOneFit) {
  for (const DType dtype : binned_types()) {
    const Tensor matrix = as_type(matrix_of_kinds(30001, 4), dtype);
    const std::string whole = Tokenizer::fit(Table(matrix), options(64)).to_json();
    for (const std::int64_t n_parts : {1, 3, 10}) {
      EXPECT_EQ(stream(cut(matrix, n_parts), options(64), 1 << 30).to_json(), whole);
    }
    // So little memory that splitters are refined, starting from a first batch with a tenth of the
    // range.
    EXPECT_EQ(stream(cut(matrix, 10), options(64), 100000).to_json(), whole) << to_string(dtype);
  }
}

TEST(Streaming, SortedInputNeedsNoExtraMemory) {
  const Tensor sorted = arange(0.0, 100000.0, 1.0, DType::f64).unsqueeze(1);
  Options chosen = options(16);
  chosen.statistics = false;
  EXPECT_EQ(stream(cut(sorted, 50), chosen, 20000).to_json(),
            Tokenizer::fit(Table(sorted), chosen).to_json());
}

TEST(Streaming, PartsMerge) {
  const Tensor matrix = matrix_of_kinds(20011, 6);
  const auto batches = cut(matrix, 5);
  const std::string whole = Tokenizer::fit(Table(matrix), options(32)).to_json();
  PartialFit lead = PartialFit::begin(Table(batches[2]), options(32));
  std::vector<PartialFit> parts(batches.size(), lead.fresh());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].count(Table(batches[i]));
  for (const std::size_t i : {3u, 0u, 4u, 1u, 2u}) lead.merge(parts[i]);
  lead.plan(1 << 30);
  ASSERT_FALSE(lead.needs_another_pass());
  parts.assign(batches.size(), lead.fresh());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].collect(Table(batches[i]));
  EXPECT_TRUE(says(failure([&] { (void)lead.finish(); }), "invalid_argument: [tokenizer.fit]",
                   "collect every batch"));
  for (const std::size_t i : {1u, 2u, 0u, 4u, 3u}) lead.merge(parts[i]);
  EXPECT_EQ(lead.finish().to_json(), whole);
}

TEST(Streaming, EstimatesAreWithinTheirBound) {
  const Tensor matrix = Generator(5).normal({200000, 1}, 0, 1, DType::f64);
  const auto batches = cut(matrix, 4);
  PartialFit part = PartialFit::begin(Table(batches[0]), options(64));
  for (const Tensor& batch : batches) part.count(Table(batch));
  const double bound = part.rank_errors()[0];
  EXPECT_GT(bound, 0);
  EXPECT_LT(bound, 0.002);
  auto sorted = matrix.flatten().to_vector<double>();
  std::sort(sorted.begin(), sorted.end());
  const auto edges = part.estimate().columns()[0].bins.edges;
  const double n = static_cast<double>(sorted.size());
  for (std::size_t i = 1; i + 1 < edges.size(); ++i) {
    const auto below = std::lower_bound(sorted.begin(), sorted.end(), edges[i]) - sorted.begin();
    EXPECT_NEAR(static_cast<double>(below) / n, static_cast<double>(i) / 64, bound + 1 / n);
  }
}

}  // namespace
}  // namespace causeway
