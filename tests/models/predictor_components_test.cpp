// Ensemble members that read principal components: which columns, how many, in which order.
#include "causeway/models/predictor.h"

#include "causeway/runtime/threads.h"
#include "causeway/tensor/indexing.h"
#include "tests/models/predictor_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace causeway {
namespace {

using models::EnsembleMember;
using models::PredictorOptions;
using models::TabularPredictor;
using models::Transform;

// Codes of `n_levels` categories in column 0, a copy of column 1 in column 2.
Data draw_typed(std::int64_t n_columns, std::int64_t n_levels, std::int64_t n_rows) {
  Data data = draw_data(n_columns, 4, n_rows);
  for (const Tensor& x : {data.x, data.query}) {
    for (std::int64_t row = 0; row < x.size(0); ++row) {
      double* cells = x.data_as<double>() + row * n_columns;
      cells[0] = std::floor(std::fabs(cells[0]) * 1000);
      cells[0] -=
          std::floor(cells[0] / static_cast<double>(n_levels)) * static_cast<double>(n_levels);
      cells[2] = cells[1];
    }
  }
  return data;
}

tables::Features first_is_a_category(std::int64_t n_columns) {
  tables::Features made;
  made.categorical.assign(static_cast<std::size_t>(n_columns), false);
  made.categorical[0] = true;
  return made;
}

TEST(PredictorComponents, AreReadByTheFourthMember) {
  const Data data = draw_typed(4, 3, 80);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4, first_is_a_category(4));
  const auto& members = predictor.members();
  ASSERT_EQ(members.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(members[i].transform, i == 0 ? Transform::none : Transform::power);
    EXPECT_EQ(members[i].components, nullptr);
    EXPECT_EQ(members[i].n_inputs(), 4);
  }
  EXPECT_EQ(members[3].transform, Transform::components);
  EXPECT_EQ(members[3].components->inputs().size(), 6u);  // three levels and three numbers
  EXPECT_EQ(members[3].n_inputs(), 4);                    // two and two are independent
  EXPECT_EQ(members[3].component_order, (std::vector<std::int64_t>{0, 1, 2, 3}));
  // Without categories, of four columns three are independent.
  predictor.fit(data.x, data.y, 4);
  EXPECT_EQ(predictor.members()[3].n_inputs(), 3);
}

// The others permute the same components.
TEST(PredictorComponents, OrdersDiffer) {
  const Data data = draw_data(8, 4, 60);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 12});
  predictor.fit(data.x, data.y, 4);
  std::set<std::vector<std::int64_t>> orders;
  std::set<const models::PrincipalComponents*> fitted;
  for (const EnsembleMember& member : predictor.members()) {
    if (member.transform != Transform::components) continue;
    auto sorted = member.component_order;
    if (orders.empty()) {
      EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
    }
    orders.insert(sorted);
    fitted.insert(member.components.get());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_EQ(orders.size(), 3u);
  EXPECT_EQ(fitted.size(), 1u);
}

// One-hot encoding makes more inputs than columns; max_features limits the components.
TEST(PredictorComponents, MaxFeaturesLimitsThem) {
  const Data data = draw_typed(5, 30, 200);
  PredictorOptions options;
  options.transforms = {Transform::components};
  options.max_features = 6;
  TabularPredictor predictor(make_model(small("default")), options);
  predictor.fit(data.x, data.y, 4, first_is_a_category(5));
  EXPECT_TRUE(predictor.warnings().empty());
  EXPECT_EQ(predictor.members()[0].n_inputs(), 6);
  EXPECT_EQ(predictor.predict_proba(data.query).shape(), (Shape{9, 4}));
  // Of more columns, each member reads the components of its subset.
  const Data wide = draw_data(20, 4, 60);
  predictor.fit(wide.x, wide.y, 4);
  for (const EnsembleMember& member : predictor.members()) {
    std::set<std::int64_t> read;
    for (const auto& input : member.components->inputs()) read.insert(input.position);
    EXPECT_EQ(read, std::set(member.columns.begin(), member.columns.end()));
    EXPECT_EQ(member.n_inputs(), 6);
  }
  EXPECT_EQ(predictor.predict_proba(wide.query).shape(), (Shape{9, 4}));
}

TEST(PredictorComponents, OneColumnIsReadAsItIs) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(1, 4, 30);
  const auto predict = [&](const std::vector<Transform>& transforms) {
    PredictorOptions options;
    options.transforms = transforms;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x, data.y, 4);
    EXPECT_EQ(predictor.members()[3].transform, Transform::none);
    return predictor.predict_proba(data.query);
  };
  expect_same_bytes(predict({Transform::components}), predict({Transform::none}), "one column");
  // Constant columns only.
  TabularPredictor predictor(model, {});
  predictor.fit(full({20, 3}, 1.0, DType::f64), data.y.slice(0, 0, 20), 4);
  EXPECT_EQ(predictor.predict_proba(full({2, 3}, 1.0, DType::f64)).shape(), (Shape{2, 4}));
}

// Missing cells and unseen levels included.
TEST(PredictorComponents, ChunksOrderAndThreadsDoNotMatter) {
  const Data data = draw_typed(4, 5, 80);
  data.query.data_as<double>()[1] = std::nan("");
  data.query.data_as<double>()[4] = 17;
  const auto model = make_model(small("default"));
  const auto predict = [&](const Tensor& query, std::optional<std::size_t> bytes) {
    PredictorOptions options;
    options.cache_bytes = bytes;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x, data.y, 4, first_is_a_category(4));
    return predictor.predict_proba(query);
  };
  const Tensor all = predict(data.query, {});
  for (std::int64_t row = 0; row < 9; ++row) {
    expect_within(predict(data.query.slice(0, row, row + 1), 0), all.slice(0, row, row + 1), 1e-6,
                  "one row");
  }
  const std::vector<std::int64_t> backwards = {8, 7, 6, 5, 4, 3, 2, 1, 0};
  const Tensor order = Tensor::from<std::int64_t>(backwards, {9});
  expect_within(index_select(predict(index_select(data.query, 0, order), {}), 0, order), all, 1e-6,
                "another order");
  const int before = thread_count();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    expect_same_bytes(predict(data.query, {}), all, "threads");
  }
  set_thread_count(before);
}

// The state has no categories: restore takes them, as fit does.
TEST(PredictorComponents, AreRestored) {
  const auto model = make_model(small("default"));
  const Data data = draw_typed(4, 5, 80);
  PredictorOptions options;
  options.max_rows = 30;
  options.n_estimators = 8;
  TabularPredictor predictor(model, options);
  predictor.fit(data.x, data.y, 4, first_is_a_category(4));
  const Tensor want = predictor.predict_proba(data.query);
  TabularPredictor other(model, options);
  other.restore(predictor.state(), predictor.features());
  expect_same_bytes(other.predict_proba(data.query), want, "restored");
  other.restore(predictor.state());
  EXPECT_NE(other.predict_proba(data.query).to_vector<double>(), want.to_vector<double>());
}

TEST(PredictorComponents, ImportanceAndEmbeddings) {
  const Data data = draw_typed(4, 3, 60);
  PredictorOptions options;
  options.transforms = {Transform::components};
  options.n_estimators = 1;
  TabularPredictor predictor(make_model(small("default")), options);
  predictor.fit(data.x, data.y, 4, first_is_a_category(4));
  const auto changes = predictor.importance(data.query, {{0}, {3}, {}}).to_vector<double>();
  EXPECT_GT(changes[0], 0);
  EXPECT_GT(changes[1], 0);
  EXPECT_NEAR(changes[2], 0, 1e-6);
  const Tensor embedded = predictor.embed(data.query);
  EXPECT_EQ(embedded.shape(), (Shape{9, 16}));
  expect_within(predictor.embed(data.query.slice(0, 3, 5)), embedded.slice(0, 3, 5).contiguous(),
                1e-6, "chunks");
}

}  // namespace
}  // namespace causeway
