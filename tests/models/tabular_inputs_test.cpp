// The inputs of a tabular transformer's encoder against plain definitions.
#include "causeway/models/tabular_encoder.h"

#include "tests/models/tables.h"

#include <algorithm>
#include <cmath>

namespace causeway {
namespace {

using models::CellEncoding;
using models::LabelPlacement;
using models::Tables;
using models::TabularConfig;

// (tables, thinking + rows, columns, inputs).
Tensor inputs_of(const TabularConfig& config, const Tables& tables) {
  const kernels::TableInputs inputs = config.inputs();
  return encoder_inputs(inputs, tables, measure_tables(inputs, tables), true, DType::f32);
}

// Cells of context rows get the inputs of their row's target token; all else stays the same.
TEST(TabularInputs, LabelsInCells) {
  for (TabularConfig config : {small("default"), small("nanotabpfn"), small("default", true)}) {
    const Tables tables =
        draw_tables({{9, 4, 5}, {6, 2, 6}, {3, 1, 0}}, config.is_regression() ? 0 : 2, 7);
    const Tensor want = inputs_of(config, tables).clone();
    const auto* size = tables.sizes.data_as<std::int64_t>();
    for (std::int64_t table = 0; table < 3; ++table, size += 3) {
      for (std::int64_t row = 0; row < size[2]; ++row) {
        const Tensor tokens = want.select(0, table).select(0, config.thinking + row);
        const Tensor cells = tokens.slice(0, 1, size[1] + 1);
        cells.copy_from(cells + tokens.slice(0, 0, 1));
      }
    }
    config.labels = LabelPlacement::cells;
    expect_same_bytes(inputs_of(config, tables), want, name_of(config));
  }
}

// Tokens of tables with more than 16 features divide the columns evenly; the others of a group
// follow the first.
TEST(TabularInputs, ColumnsPerToken) {
  TabularConfig config = small("default");
  config.group = 3;
  for (const std::int64_t shared : {1, 2, 3}) {
    config.columns_per_token = shared;
    const kernels::TableInputs inputs = config.inputs();
    const std::vector<std::int64_t> after =
        shared == 3 ? std::vector<std::int64_t>{0, 1, 2} : std::vector<std::int64_t>{0, 1, 3};
    std::int64_t before = 0;
    for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 34, 47, 49, 100}) {
      const std::int64_t n_tokens = inputs.feature_tokens(n);
      EXPECT_EQ(n_tokens, std::max(std::min<std::int64_t>(n, 16), (n + shared - 1) / shared)) << n;
      EXPECT_EQ(config.tokens(n), n_tokens + 1);
      EXPECT_GE(n_tokens, before);
      before = n_tokens;
      const Tables tables = draw_tables({{5, n, 3}}, 3, 7, {5, n + 3, 0});
      const models::TableStatistics statistics = measure_tables(inputs, tables);
      const Tensor made = encoder_inputs(inputs, tables, statistics, false, DType::f32);
      EXPECT_EQ(made.size(2), config.tokens(n + 3));
      std::vector<bool> is_read(static_cast<std::size_t>(n));
      for (std::int64_t token = 0; token < n_tokens; ++token) {
        const Tensor cells = made.select(0, 0).select(0, 4).select(0, token + 1).contiguous();
        for (std::size_t member = 0; member < 3; ++member) {
          const std::int64_t column = (token * n / n_tokens + after[member]) % n;
          is_read[static_cast<std::size_t>(column)] = true;
          const float* moments = statistics.moments.data_as<float>() + 2 * column;
          const float value = tables.x.data_as<float>()[4 * (n + 3) + column];
          EXPECT_FLOAT_EQ(cells.data_as<float>()[member], (value - moments[0]) * moments[1]);
        }
      }
      EXPECT_TRUE(std::ranges::all_of(is_read, [](bool one) { return one; })) << n;
      EXPECT_EQ(made.select(0, 0).select(0, 4).slice(0, n_tokens + 1).to_vector<float>(),
                std::vector<float>(
                    static_cast<std::size_t>((made.size(2) - n_tokens - 1) * made.size(3))));
    }
  }
}

// The rank of `value` in a column of context values, by definition.
float rank_of(float value, const std::vector<float>& context) {
  float below = 0;
  float n = 0;
  for (const float other : context) {
    if (!std::isfinite(other)) continue;
    below += other < value ? 1.0f : (other == value ? 0.5f : 0.0f);
    n += 1;
  }
  return below / n;
}

// Ties, missing cells, infinities, query rows outside the context's range, a constant column.
TEST(TabularInputs, RadialCells) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::int64_t kContext = 7;
  const std::vector<float> first = {2, -1, 2, kNaN, 5, kInfinity, 2, 2, 3, -9, kInfinity, kNaN};
  TabularConfig config = small("default");
  config.group = 1;
  config.cell_encoding = CellEncoding::radial;
  const kernels::TableInputs inputs = config.inputs();
  Tables tables = draw_tables({{12, 2, kContext}, {12, 1, kContext}}, 3, 5);
  const std::vector<float> context(first.begin(), first.begin() + kContext);
  double mean = 0;
  double squares = 0;
  for (const float value : {2, -1, 2, 5, 2}) mean += value / 5.0;
  for (const float value : {2, -1, 2, 5, 2}) squares += (value - mean) * (value - mean) / 5;
  for (std::int64_t row = 0; row < 12; ++row) {
    tables.x.data_as<float>()[row * 2] = first[static_cast<std::size_t>(row)];
    tables.x.data_as<float>()[row * 2 + 1] = 4;
  }
  const Tensor all = inputs_of(config, tables);
  for (std::int64_t row = 0; row < 12; ++row) {
    const float value = first[static_cast<std::size_t>(row)];
    const auto got = all.select(0, 0).select(0, config.thinking + row).contiguous();
    const float* cell = got.select(0, 1).data_as<float>();
    EXPECT_EQ(cell[inputs.feature()], 1);
    EXPECT_EQ(cell[kernels::kMissingPart], std::isnan(value) ? 1 : 0);
    const double z = std::clamp((value - mean) / std::sqrt(squares), -100.0, 100.0);
    EXPECT_NEAR(cell[0], std::isnan(value) ? 0 : z, 1e-5) << row;
    EXPECT_FLOAT_EQ(cell[kernels::kRankPart], std::isnan(value) ? 0 : rank_of(value, context))
        << row;
    for (int i = 0; i < kernels::kBumps; ++i) {
      const double t = (z + 3) / 0.4 - i;
      EXPECT_NEAR(cell[kernels::kFirstBumpPart + i], std::isnan(value) ? 0 : std::exp(-t * t / 2),
                  1e-5);
    }
    EXPECT_EQ(got.select(0, 2).data_as<float>()[kernels::kRankPart], 0.5f);  // the constant
  }
}

}  // namespace
}  // namespace causeway
