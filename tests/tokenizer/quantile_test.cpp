// Exact quantiles against a sorted copy, for every definition, dtype, layout and size.
#include "causeway/runtime/threads.h"
#include "causeway/tokenizer/fit/order_statistics.h"
#include "tests/tensor/devices.h"
#include "tests/tokenizer/tables.h"

#include <algorithm>

namespace causeway {
namespace {

using namespace tokenizer_test;
using tokenizer::ColumnQuantiles;
using tokenizer::find_quantiles;

constexpr QuantileMethod kMethods[] = {QuantileMethod::inverted_cdf,
                                       QuantileMethod::averaged_inverted_cdf,
                                       QuantileMethod::closest_observation,
                                       QuantileMethod::interpolated_inverted_cdf,
                                       QuantileMethod::hazen,
                                       QuantileMethod::weibull,
                                       QuantileMethod::linear,
                                       QuantileMethod::median_unbiased,
                                       QuantileMethod::normal_unbiased};

template <class V>
std::vector<double> sorted_quantiles(const Tensor& column, QuantileMethod method,
                                     const std::vector<double>& levels) {
  std::vector<V> values;
  for (const V value : column.to_vector<V>()) {
    if (value == value) values.push_back(static_cast<V>(value + V(0)));
  }
  std::sort(values.begin(), values.end());
  std::vector<double> found;
  for (const double level : levels) {
    if (values.empty()) break;
    const RankPair pair = ranks_of(method, level, static_cast<std::int64_t>(values.size()));
    found.push_back(interpolate(values[static_cast<std::size_t>(pair.below)],
                                values[static_cast<std::size_t>(pair.above)], pair.weight));
  }
  return found;
}

std::vector<double> expected(const Tensor& column, QuantileMethod method,
                             const std::vector<double>& levels) {
  switch (column.dtype()) {
    case DType::f64: return sorted_quantiles<double>(column, method, levels);
    case DType::i32: return sorted_quantiles<std::int32_t>(column, method, levels);
    case DType::i64: return sorted_quantiles<std::int64_t>(column, method, levels);
    default: return sorted_quantiles<float>(column, method, levels);
  }
}

std::vector<double> even(int bins) {
  std::vector<double> levels;
  for (int i = 0; i <= bins; ++i) levels.push_back(static_cast<double>(i) / bins);
  return levels;
}

void check_sizes(Device device, const std::vector<std::int64_t>& sizes, int bins) {
  for (const std::int64_t n_rows : sizes) {
    for (const DType dtype : binned_types()) {
      const Tensor host = as_type(matrix_of_kinds(n_rows, 7), dtype);
      const std::vector<std::vector<double>> levels(kinds().size(), even(bins));
      for (const bool by_columns : {false, true}) {
        const Tensor matrix =
            (by_columns ? host.transpose().contiguous().to(device).transpose() : host.to(device));
        for (const QuantileMethod method : kMethods) {
          const auto found = find_quantiles(matrix, Tensor(), method, levels);
          for (std::size_t c = 0; c < kinds().size(); ++c) {
            EXPECT_EQ(found[c].values,
                      expected(host.select(1, static_cast<std::int64_t>(c)), method, levels[c]))
                << kinds()[c].name << ", " << to_string(dtype) << ", " << n_rows << " rows, method "
                << static_cast<int>(method) << (by_columns ? ", by columns" : "");
          }
        }
      }
    }
  }
}

TEST(Quantile, EqualsSorting) {
  check_sizes(Device::cpu(), cases<std::int64_t>({1, 2, 31, 32, 33, 20011}, {2, 33, 2011}), 17);
}
TEST(GpuQuantile, EqualsSorting) {
  CAUSEWAY_REQUIRE_GPU();
  check_sizes(Device::cuda(), {1, 2, 31, 32, 33, 20011, 300007}, 17);
}

// Too little space is detected and the search repeated.
void check_room(Device device) {
  const Tensor host = matrix_of_kinds(30011, 8);
  std::vector<std::vector<double>> levels(kinds().size(), even(100));
  levels[1] = {};
  levels[3] = {0.5};
  for (const DType dtype : {DType::f32, DType::i64}) {
    const Tensor matrix = as_type(host, dtype).to(device);
    const auto usual = find_quantiles(matrix, Tensor(), QuantileMethod::hazen, levels);
    for (const std::int64_t room : {0, 1000, 20000}) {
      const auto found = find_quantiles(matrix, Tensor(), QuantileMethod::hazen, levels, room);
      for (std::size_t c = 0; c < kinds().size(); ++c) {
        EXPECT_EQ(found[c].values, usual[c].values) << kinds()[c].name << ", room " << room;
        EXPECT_EQ(found[c].values.size(), levels[c].size());
      }
    }
  }
}

TEST(Quantile, GrowsItsSpaceIfNeeded) { check_room(Device::cpu()); }
TEST(GpuQuantile, GrowsItsSpaceIfNeeded) {
  CAUSEWAY_REQUIRE_GPU();
  check_room(Device::cuda());
}

// Levels that share intervals, single and in pairs, and a missing mask in addition to NaN.
void check_crowded_levels(Device device) {
  std::mt19937_64 engine(4);
  for (const std::int64_t n_rows : {3, 900, 40009}) {
    const Tensor host = matrix_of_kinds(n_rows, 9);
    Tensor marks = Tensor::empty(host.shape(), DType::boolean);
    for (std::int64_t i = 0; i < marks.numel(); ++i) marks.data_as<bool>()[i] = engine() % 3 == 0;
    const Tensor left = where(marks, full({1}, NAN, DType::f64), host);
    std::vector<std::vector<double>> levels;
    for (std::size_t c = 0; c < kinds().size(); ++c) {
      levels.emplace_back();
      for (int i = 0; i < 40; ++i) levels.back().push_back(0.5 * uniform(engine));
      for (int i = 0; i < 4; ++i) levels.back().push_back(0.4 + 1e-9 * i);
      std::sort(levels.back().begin(), levels.back().end());
    }
    for (const QuantileMethod method : kMethods) {
      const auto found = find_quantiles(host.to(device), marks.to(device), method, levels);
      for (std::size_t c = 0; c < kinds().size(); ++c) {
        EXPECT_EQ(found[c].values,
                  expected(left.select(1, static_cast<std::int64_t>(c)), method, levels[c]))
            << kinds()[c].name << ", " << n_rows << " rows, method " << static_cast<int>(method);
      }
    }
  }
}

TEST(Quantile, CrowdedLevels) { check_crowded_levels(Device::cpu()); }
TEST(GpuQuantile, CrowdedLevels) {
  CAUSEWAY_REQUIRE_GPU();
  check_crowded_levels(Device::cuda());
}

TEST(Quantile, NoRowsGiveNoValues) {
  const std::vector<std::vector<double>> levels(2, even(4));
  const auto found =
      find_quantiles(Tensor::empty({0, 2}), Tensor(), QuantileMethod::linear, levels);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].values.empty());
}

TEST(Quantile, NoLevelsStillCountRows) {
  const Tensor matrix = matrix_of_kinds(500, 2);
  const std::vector<std::vector<double>> none(kinds().size());
  const auto found = find_quantiles(matrix, Tensor(), QuantileMethod::linear, none);
  for (const ColumnQuantiles& column : found) {
    EXPECT_TRUE(column.values.empty());
    EXPECT_EQ(column.n_valid + column.n_missing, 500);
  }
  EXPECT_GT(found.back().n_missing, 0);
}

TEST(Quantile, MaskedValuesAreIgnored) {
  const std::int64_t n = 5000;
  const Tensor values = arange(std::int64_t{0}, n, std::int64_t{1}, DType::i64).unsqueeze(1);
  Tensor marks = Tensor::empty({n, 1}, DType::boolean);
  for (std::int64_t i = 0; i < n; ++i) marks.data_as<bool>()[i] = i % 2 == 1;
  const std::vector<std::vector<double>> levels{{0, 0.5, 1}};
  const auto found = find_quantiles(values, marks, QuantileMethod::linear, levels);
  EXPECT_EQ(found[0].values, (std::vector<double>{0, 2499, 4998}));
  EXPECT_EQ(found[0].n_missing, n / 2);
}

TEST(Quantile, ResultsDoNotDependOnThreads) {
  const int before = thread_count();
  const Tensor matrix = matrix_of_kinds(100003, 3).to(DType::f32);
  const std::vector<std::vector<double>> levels(kinds().size(), even(256));
  set_thread_count(1);
  const auto one = find_quantiles(matrix, Tensor(), QuantileMethod::linear, levels);
  set_thread_count(7);
  const auto seven = find_quantiles(matrix, Tensor(), QuantileMethod::linear, levels);
  set_thread_count(before);
  for (std::size_t c = 0; c < one.size(); ++c) EXPECT_EQ(one[c].values, seven[c].values);
}

// Values after the last sampled row, and an order that the sample represents badly.
TEST(Quantile, SortedAndSkewedColumns) {
  const std::int64_t n = 200000;
  Tensor column = Tensor::empty({n, 1}, DType::f32);
  for (std::int64_t i = 0; i < n; ++i) {
    column.data_as<float>()[i] =
        i < n - 10 ? static_cast<float>(i % 7) : 1e30f * static_cast<float>(i);
  }
  const std::vector<std::vector<double>> levels{even(1000)};
  const auto found = find_quantiles(column, Tensor(), QuantileMethod::hazen, levels);
  EXPECT_EQ(found[0].values, expected(column.select(1, 0), QuantileMethod::hazen, levels[0]));
}

}  // namespace
}  // namespace causeway
