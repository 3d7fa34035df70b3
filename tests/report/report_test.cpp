#include "causeway/report/calibration.h"
#include "causeway/report/chart.h"
#include "causeway/report/comparison_page.h"
#include "causeway/report/gallery.h"
#include "causeway/report/html.h"
#include "causeway/report/run_page.h"
#include "causeway/report/tokenizer_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Html, EscapesMarkupAndControlCharacters) {
  EXPECT_EQ(escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(escaped(std::string("x\x1b[31m\0y", 8)), "x [31m y");
}

TEST(Html, CommandsBreakBetweenOptions) {
  EXPECT_EQ(command_html("run a --rows 4 --out 'x y'"),
            "<code><span>run a</span> <span>--rows 4</span> <span>--out 'x y'</span></code>");
}

TEST(Chart, RoundNumbers) {
  EXPECT_EQ(round_numbers(0, 49), (std::vector<double>{0, 10, 20, 30, 40}));
  const std::vector<double> between = round_numbers(1.32, 2.04, 5);
  ASSERT_EQ(between.size(), 4u);
  EXPECT_NEAR(between.front(), 1.4, 1e-12);
  EXPECT_NEAR(between.back(), 2.0, 1e-12);
  EXPECT_TRUE(round_numbers(1, 1).empty());
  EXPECT_TRUE(round_numbers(0, INFINITY).empty());
}

TEST(Chart, LeavesOutWhatIsNotFinite) {
  Chart chart("a <chart>", {0, 10, "x"}, {0, 1, "y"});
  chart.line({{0, 0}, {5, NAN}, {10, 1}}, "curve");
  chart.line({{0, NAN}}, "second");
  chart.dot({INFINITY, 0}, 3, "far");
  const std::string html = chart.html();
  EXPECT_TRUE(contains(html, "M0.00 100.00L100.00 0.00"));
  EXPECT_TRUE(contains(html, "aria-label=\"a &lt;chart&gt;\""));
  EXPECT_FALSE(contains(html, "nan"));
  EXPECT_FALSE(contains(html, "inf"));
  EXPECT_FALSE(contains(html, "second"));
}

TEST(Chart, ValuesFromLeftToRight) {
  Chart chart("c", {0, 10, "x"}, {0, 2, "y"});
  chart.bar(4, 6, 1, "a \"bar\"");
  chart.value({0, 2}, "first <");
  chart.value({3, NAN}, "nowhere");
  EXPECT_TRUE(contains(chart.html(),
                       "data-values=\"[[0.00,0.00,&quot;first &lt;&quot;],"
                       "[50.00,50.00,&quot;a \\&quot;bar\\&quot;&quot;]]\""));
  EXPECT_EQ(values_attribute({}), "");
}

TEST(Chart, ThinnedKeepsEndsAndExtremes) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 10'001; ++i) points.push_back({static_cast<double>(i), 0});
  points[4321].y = 7;
  points[4322].y = -7;
  const auto kept = thinned(points);
  EXPECT_LE(kept.size(), 400u);
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 10'000);
  double low = 0;
  double high = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    low = std::min(low, kept[i].y);
    high = std::max(high, kept[i].y);
    EXPECT_TRUE(i == 0 || kept[i - 1].x < kept[i].x) << i;
  }
  EXPECT_EQ(std::pair(low, high), std::pair(-7.0, 7.0));
  EXPECT_EQ(thinned({{1, 2}}).size(), 1u);
}

TEST(Curves, OnePointIsNoCurve) {
  EXPECT_EQ(curves_html({"loss", {{"a", {{1, 2.0}, {2, NAN}}}}}), "");
  const std::string html = curves_html({"loss", {{"a", {{1, 2}, {3, 1}}}, {"b", {{2, 5}}}}});
  EXPECT_TRUE(contains(html, "a, step 3: 1&quot;"));
  EXPECT_TRUE(contains(html, "class=\"series c1\""));
  EXPECT_EQ(abbreviated(12'345'678), "12.3M");
}

TEST(Curves, RunningMeansOfTheFirstOnly) {
  const CurveChart chart{"loss", {{"a", {{1, 2}, {2, 4}}}, {"b", {{1, 2}, {2, 4}}}}, false, true};
  const std::string html = curves_html(chart);
  EXPECT_TRUE(contains(html, "a, step 2: mean 3&quot;"));
  EXPECT_TRUE(contains(html, "b, step 2: 4&quot;"));
}

TEST(Calibration, Coverage) {
  std::vector<double> uniform;
  for (int i = 0; i < 1000; ++i) uniform.push_back((i + 0.5) / 1000);
  EXPECT_NEAR(coverage_error(uniform), 0, 1e-9);
  EXPECT_NEAR(coverage_error({0, 0, 0}), 0.5, 1e-9);  // all intervals contain all targets
  EXPECT_NEAR(coverage_error({1, 1}), 0.5, 1e-9);     // none does
  EXPECT_EQ(coverage_error({}), 0);
}

TEST(Calibration, Bins) {
  const auto bins = reliability({{0.85, true}, {0.85, false}, {1.0, true}, {0.31, false}});
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(bins[0].count, 1u);
  EXPECT_DOUBLE_EQ(bins[0].low, 0.3);
  EXPECT_DOUBLE_EQ(bins[1].accuracy, 0.5);
  EXPECT_DOUBLE_EQ(bins[2].confidence, 1.0);
  EXPECT_NEAR(calibration_error(bins), (0.31 + 2 * 0.35 + 0) / 4, 1e-12);
  EXPECT_EQ(calibration_error({}), 0);
}

TEST(RunPage, PartsWithoutDataAreLeftOut) {
  RunPage page;
  page.title = "Run";
  EXPECT_FALSE(contains(run_html(page), "<section"));
  page.losses = {{1, 2.0}, {2, NAN}, {3, 1.5}};
  const std::string html = run_html(page);
  EXPECT_TRUE(contains(html, "id=\"loss\""));
  EXPECT_FALSE(contains(html, "id=\"scores\""));
}

TEST(RunPage, MeansOverTables) {
  RunPage page;
  page.scores.methods = {"a", "b"};
  page.scores.metrics = {{"accuracy"}, {"log loss", true}};
  page.scores.tables = {{"t", "", {{0.5, 0.7}, {1.0, 3.0}}}, {"u", "", {{0.7, 0.7}, {2.0, 1.0}}}};
  const std::string html = run_html(page);
  EXPECT_TRUE(contains(html, "<td>0.600</td><td class=\"best\"><strong>0.700</strong></td>"));
  EXPECT_TRUE(contains(html, "<td class=\"best\"><strong>1.500</strong></td><td>2.000</td>"));
}

TEST(RunPage, OneMethodHasAColumnPerMetric) {
  Scores scores{"", {"run"}, {{"accuracy"}, {"log loss", true}}, {}};
  scores.tables = {{"t", "", {{0.5}, {1.0}}}, {"u", "", {{0.7}, {NAN}}}};
  const std::string html = scores_html(scores);
  EXPECT_TRUE(contains(html, "<th scope=\"col\">log loss</th>"));
  EXPECT_TRUE(contains(html, "<td>0.600</td><td>–</td>"));  // the means
  EXPECT_FALSE(contains(html, "best"));
}

TEST(Comparison, SettingsThatDifferAndCommonTables) {
  RunPage a;
  a.name = "a";
  a.settings = {{"batch", "4"}, {"width", "16"}};
  a.scores = {"", {"this run"}, {{"accuracy"}}, {{"t", "", {{0.5}}}, {"only a", "", {{0.1}}}}};
  RunPage b = a;
  b.name = "b";
  b.settings = {{"batch", "4"}, {"width", "32"}, {"new", "1"}};
  b.scores.tables = {{"t", "", {{0.75}}}};
  const std::string html = comparison_html({a, b});
  EXPECT_TRUE(contains(html, "width</th><td>16</td><td>32</td>"));
  EXPECT_TRUE(contains(html, "new</th><td>–</td><td>1</td>"));
  EXPECT_FALSE(contains(html, ">batch<"));
  EXPECT_TRUE(contains(html, "<td>0.500</td><td class=\"best\"><strong>0.750</strong></td>"));
  EXPECT_FALSE(contains(html, "only a"));
  b.settings = a.settings;
  EXPECT_TRUE(contains(comparison_html({a, b}), "All settings are the same."));
}

TEST(TokenizerPage, EmptyAndConstantColumns) {
  TokenColumn empty{"e", "nothing", "", {}, {}, {}, {}};
  TokenColumn constant{"c", "one value", "drift", {1, 1}, {5}, {5}, {0}};
  TokenColumn numeric{"n", "two bins", "", {0, 1, 3}, {4, 4}, {4, 4}, {1, 7}};
  const std::string html = tokenizer_html("Tokens", "lead", {empty, constant, numeric});
  EXPECT_TRUE(contains(html, "histogram of n"));
  EXPECT_FALSE(contains(html, "histogram of c"));
  EXPECT_TRUE(contains(html, "tokens of c"));
  EXPECT_FALSE(contains(html, "tokens of e"));
}

TokenColumn compared(std::vector<std::int64_t> counts, std::vector<std::int64_t> new_counts,
                     double index) {
  TokenColumn column{"c", "", "", {}, {}, std::move(counts), std::move(new_counts)};
  column.stability_index = index;
  return column;
}

TEST(TokenizerPage, DriftVerdicts) {
  using Severity = DriftVerdict::Severity;
  const auto severity = [](double index, std::int64_t scale) {
    return drift_verdict(compared({scale, scale}, {scale, scale}, index)).severity;
  };
  EXPECT_EQ(severity(0.05, 10'000), Severity::none);
  EXPECT_EQ(severity(0.15, 10'000), Severity::moderate);
  EXPECT_EQ(severity(0.30, 10'000), Severity::large);
  EXPECT_EQ(severity(0.30, 10), Severity::none);  // (1 + 3 sqrt(2)) (1/20 + 1/20) = 0.52
  EXPECT_EQ(severity(0.60, 10), Severity::large);
  EXPECT_EQ(severity(NAN, 10), Severity::unknown);
  EXPECT_EQ(drift_verdict(compared({9000, 9000}, {9000, 9000}, 0.41)).text,
            "large drift: PSI 0.41, above 0.25");
}

TEST(TokenizerPage, SortedBySeverity) {
  const std::vector<std::int64_t> many{5000, 5000};
  TokenColumn stable = compared(many, many, 0.01);
  TokenColumn drifted = compared(many, many, 0.3);
  TokenColumn worse = compared(many, many, 0.9);
  stable.name = "stable";
  drifted.name = "drifted";
  worse.name = "worse";
  const std::string html = tokenizer_html("Tokens", "", {stable, drifted, worse});
  EXPECT_LT(html.find(">worse</h2>"), html.find(">drifted</h2>"));
  EXPECT_LT(html.find(">drifted</h2>"), html.find(">stable</h2>"));
  EXPECT_TRUE(contains(html, "<a href=\"#column-0\">worse</a>"));
}

TEST(TokenizerPage, CategoriesHaveNames) {
  TokenColumn column = compared({30, 60, 10}, {50, 50, 0}, 0.2);
  column.token_names = {"Rome", "<Paris>", "missing"};
  column.has_categories = true;
  const std::string html = tokenizer_html("Tokens", "", {column});
  EXPECT_LT(html.find("&lt;Paris&gt;"), html.find("Rome"));  // the most frequent first
  EXPECT_TRUE(contains(html, "<td>60% → 50%</td>"));
  EXPECT_TRUE(contains(html, "in the new data"));
  for (int i = 0; i < 30; ++i) column.token_names.push_back(fmt::format("city {}", i));
  EXPECT_TRUE(contains(tokenizer_html("Tokens", "", {column}), "13 others"));
}

GalleryDataset small_dataset(const std::string& family) {
  GalleryDataset dataset;
  dataset.title = family + " 1";
  dataset.family = family;
  dataset.n_classes = 2;
  dataset.features = {{"x0", "numeric", {1, 2, 3, 4}}};
  dataset.target = {0, 1, 0, 1};
  dataset.nodes = {
      {0, {}, "causes", 1, false}, {1, {0}, "linear", 0, false}, {2, {1}, "linear", 0, true}};
  return dataset;
}

TEST(Gallery, MechanismsAndFamilies) {
  GalleryPage page{"Gallery", "", "causeway", {small_dataset("tree")}};
  std::string html = gallery_html(page);
  EXPECT_TRUE(contains(html, "<dt>linear</dt><dd>1, 2</dd>"));
  EXPECT_TRUE(contains(html, "node 2: linear; target&quot;"));  // on hover and tap
  EXPECT_FALSE(contains(html, "class=\"filter\""));
  page.datasets.push_back(small_dataset("graph"));
  page.datasets.push_back(small_dataset("tree"));
  html = gallery_html(page);
  EXPECT_TRUE(contains(html, "data-family=\"tree\" aria-pressed=\"false\">tree 2</button>"));
  EXPECT_TRUE(contains(html, "<article data-of=\"graph\">"));
}

}  // namespace
}  // namespace causeway::report
