// The tabular transformer: which cells a prediction depends on, and gradients.
#include "causeway/models/tabular.h"

#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"
#include "tests/models/tables.h"

#include <fmt/format.h>

namespace causeway {
namespace {

using models::Tables;
using models::TabularConfig;
using models::TabularTransformer;

struct Model : TabularTransformer {
  explicit Model(const TabularConfig& config, DType dtype = DType::f32)
      : Model(config, dtype, Generator(5)) {}

 private:
  Model(const TabularConfig& config, DType dtype, Generator generator)
      : TabularTransformer(config, {dtype, Device::cpu(), &generator}) {
    draw_scales(*this);
  }
};

bool is_finite(const Tensor& x) {
  return all(predicate(PredicateOp::is_finite, x)).item_integer() != 0;
}

// Sums in another order: f32 through a few layers.
constexpr double kLoose = 20;

TEST(Tabular, ParameterCounts) {
  // nanoTabPFN has 356,066; ours has four more inputs per token: whether a cell is missing,
  // whether a row is a query row, and two that round the number of inputs up to 8.
  EXPECT_EQ(Model(TabularConfig::preset("nanotabpfn")).n_parameters(), 356'066 + 4 * 96);
  // The speedrun's has 4,160,520; ours has eight more inputs, five marks of missing cells, one of
  // queries and two that round up to 40, and a norm before the decoder.
  EXPECT_EQ(Model(TabularConfig::preset("speedrun")).n_parameters(),
            4'160'520 + (40 - 32) * 256 + 256);
  for (const TabularConfig& config : small_ones()) {
    EXPECT_EQ(Model(config).n_parameters(), config.n_parameters()) << name_of(config);
  }
}

TEST(Tabular, GradientsByDifference) {
  for (TabularConfig config : small_ones()) {
    config.width = 8;
    config.heads = 1;
    config.hidden = 8;
    Model model(config, DType::f64);
    Tables tables = draw_tables({{7, 3, 4}, {5, 2, 3}}, classes_of(config), 3);
    tables.x.select(0, 0).select(0, 2).slice(0, 1, 2).copy_from(full({}, kNaN));
    const Tensor loss = model.loss(tables);
    autograd::backward(loss);
    const auto parameters = model.named_parameters();
    Generator generator(11);
    for (const auto& entry : parameters) {
      const std::string& name = entry.first;
      const Tensor& parameter = entry.second;
      // Along a random direction.
      const Tensor direction = generator.normal(parameter.shape(), 0, 1, DType::f64);
      const Tensor values = autograd::detach(parameter).clone();
      const auto at = [&](double step) {
        const autograd::NoGrad no_grad;
        autograd::detach(parameter).copy_from(values + direction * Scalar(step));
        return model.loss(tables).item();
      };
      const double step = 1e-6;
      const double difference = (at(step) - at(-step)) / (2 * step);
      autograd::detach(parameter).copy_from(values);
      ASSERT_TRUE(autograd::gradient_of(parameter).has_value()) << name;
      const double rule = sum(*autograd::gradient_of(parameter) * direction).item();
      EXPECT_NEAR(rule, difference, 1e-7 + 1e-5 * std::fabs(difference))
          << name << " of " << name_of(config);
    }
  }
}

TEST(Tabular, PredictLogitsEqualsLogits) {
  for (const TabularConfig& config : small_ones()) {
    Model model(config);
    const Tables tables = draw_tables({{9, 4, 5}, {9, 2, 5}}, classes_of(config), 1);
    const Tensor all = logits_of(model, tables).slice(1, 5).contiguous();
    const Tensor query = tables.x.slice(1, 5).contiguous();
    // The context is encoded from tables with query rows, and without them.
    Tables context_only{tables.x.slice(1, 0, 5).contiguous(), tables.y.slice(1, 0, 5).contiguous(),
                        tables.sizes.clone()};
    context_only.sizes.slice(1, 0, 1).copy_from(full({}, 5, DType::i64));
    for (const Tables& from : {tables, context_only}) {
      double done = 0;
      const models::ProgressHook note = [&](double fraction) { done = fraction; };
      const auto context = model.encode_context(from, note);
      EXPECT_NEAR(done, 1, 1e-9) << name_of(config);
      ASSERT_EQ(context.layers.size(), static_cast<std::size_t>(config.layers));
      expect_close(model.predict_logits(context, query, note), all, name_of(config), kLoose);
      EXPECT_NEAR(done, 1, 1e-9) << name_of(config);
      const Tensor last = model.predict_logits(context, query.slice(1, 3).contiguous());
      expect_close(last, all.slice(1, 3).contiguous(), "one row", kLoose);
      const Tensor backwards = query.slice(1, -1, Tensor::kEnd, -1).contiguous();
      expect_close(
          model.predict_logits(context, backwards).slice(1, -1, Tensor::kEnd, -1).contiguous(), all,
          "backwards", kLoose);
      EXPECT_EQ(model.predict_logits(context, query.slice(1, 0, 0).contiguous()).shape(),
                (Shape{2, 0, config.outputs()}));
    }
  }
}

TEST(Tabular, TargetsOfQueryRowsAreNotRead) {
  for (const TabularConfig& config : small_ones()) {
    Model model(config);
    Tables tables = draw_tables({{9, 4, 5}, {8, 3, 7}}, classes_of(config), 2);
    const Tensor first = logits_of(model, tables);
    tables.y = tables.y.clone();
    tables.y.select(0, 0).slice(0, 5).copy_from(full({}, 1e6));
    tables.y.select(0, 1).slice(0, 7).copy_from(full({}, kNaN));
    expect_same_bytes(logits_of(model, tables), first, name_of(config));
    // Targets of context rows do matter.
    tables.y.select(0, 0).slice(0, 0, 1).copy_from(
        Tensor(tables.y.select(0, 0).slice(0, 0, 1)) * Scalar(-1) + Scalar(1));
    EXPECT_NE(hash_of(query_logits(logits_of(model, tables), tables, 0)),
              hash_of(query_logits(first, tables, 0)));
  }
}

TEST(Tabular, QueryRowsAreIndependent) {
  for (const TabularConfig& config : small_ones()) {
    Model model(config);
    const Tables tables = draw_tables({{9, 4, 5}}, classes_of(config), 6);
    const Tensor first = logits_of(model, tables);
    Tables changed{tables.x.clone(), tables.y, tables.sizes};
    changed.x.slice(1, 8).copy_from(full({}, -40.0f));
    const Tensor second = logits_of(model, changed);
    expect_same_bytes(second.slice(1, 0, 8).contiguous(), first.slice(1, 0, 8).contiguous(), "");
    EXPECT_NE(hash_of(second), hash_of(first));
  }
}

// Permuting one-hot classes equals permuting the weights that read and write them.
TEST(Tabular, ClassesCanBePermuted) {
  const TabularConfig config = small("default");
  Model model(config);
  Tables tables = draw_tables({{9, 4, 5}}, 4, 8);
  const Tensor first = logits_of(model, tables);
  const Tensor order = Tensor::from<std::int64_t>(std::vector<std::int64_t>{2, 0, 3, 1}, {4});
  // Class c becomes order[c].
  tables.y = gather(order.to(DType::f32), 0, tables.y.to(DType::i64).flatten()).reshape({1, 9});
  auto state = model.state();
  const int at = config.inputs().target();
  const Tensor encoder = state.at("encoder").slice(1, at, at + 4);
  const Tensor plain = encoder.clone();
  const Tensor weight = state.at("decoder.out.weight");
  const Tensor bias = state.at("decoder.out.bias");
  const Tensor plain_weight = weight.clone();
  const Tensor plain_bias = bias.clone();
  for (std::int64_t c = 0; c < 4; ++c) {
    const std::int64_t to = order.data_as<std::int64_t>()[c];
    encoder.select(1, to).copy_from(plain.select(1, c));
    weight.select(0, to).copy_from(plain_weight.select(0, c));
    bias.slice(0, to, to + 1).copy_from(plain_bias.slice(0, c, c + 1));
  }
  const Tensor second = index_select(logits_of(model, tables), 2, order);
  expect_close(second, first, "renamed", kLoose);
}

TEST(Tabular, OrderDoesNotMatter) {
  TabularConfig config = small("default");
  config.group = 1;  // larger groups depend on the order of columns
  Model model(config);
  const Tables tables = draw_tables({{9, 4, 5}}, 3, 9);
  const Tensor first = logits_of(model, tables);
  const auto columns = Tensor::from<std::int64_t>(std::vector<std::int64_t>{2, 0, 3, 1}, {4});
  expect_close(logits_of(model, {index_select(tables.x, 2, columns), tables.y, tables.sizes}),
               first, "columns", kLoose);
  const auto rows =
      Tensor::from<std::int64_t>(std::vector<std::int64_t>{3, 1, 4, 0, 2, 8, 6, 5, 7}, {9});
  expect_close(logits_of(model, {index_select(tables.x, 1, rows), index_select(tables.y, 1, rows),
                                 tables.sizes}),
               index_select(first, 1, rows), "rows", kLoose);
}

TEST(Tabular, PaddingDoesNotMatter) {
  const std::vector<TableSize> sizes = {{9, 4, 5}, {6, 1, 2}, {1, 3, 0}, {0, 0, 0}, {7, 6, 7}};
  for (const TabularConfig& config : small_ones()) {
    Model model(config);
    const std::int64_t classes = classes_of(config);
    const Tables batch = draw_tables(sizes, classes, 30, {12, 8, 0});
    const Tensor together = logits_of(model, batch);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const Tables alone = draw_tables({sizes[k]}, classes, 30 + k);
      const auto at = static_cast<std::int64_t>(k);
      expect_close(query_logits(together, batch, at),
                   query_logits(logits_of(model, alone), alone, 0),
                   fmt::format("table {} of {}", k, name_of(config)), kLoose);
    }
    EXPECT_TRUE(is_finite(together)) << name_of(config);
  }
}

// Of wide tables, whose tokens read several columns.
TEST(Tabular, PaddingOfSharedTokensDoesNotMatter) {
  const std::vector<TableSize> sizes = {{9, 35, 5}, {6, 17, 2}, {5, 16, 3}, {4, 1, 2}};
  for (const bool mean_readout : {false, true}) {
    TabularConfig config = small("default");
    config.columns_per_token = 2;
    config.mean_readout = mean_readout;
    Model model(config);
    const Tables batch = draw_tables(sizes, 3, 30, {12, 41, 0});
    const Tensor together = logits_of(model, batch);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const Tables alone = draw_tables({sizes[k]}, 3, 30 + k);
      expect_close(query_logits(together, batch, static_cast<std::int64_t>(k)),
                   query_logits(logits_of(model, alone), alone, 0), fmt::format("table {}", k),
                   kLoose);
    }
  }
}

TEST(Tabular, PaddingHasNoGradient) {
  for (const TabularConfig& config : small_ones()) {
    const std::int64_t classes = classes_of(config);
    Model padded(config);
    Model plain(config);
    // Two of the four tables have no query rows.
    const Tensor half = padded.loss(
        draw_tables({{9, 4, 5}, {6, 1, 2}, {0, 0, 0}, {7, 6, 7}}, classes, 30, {12, 8, 0}));
    autograd::backward(autograd::multiply(half, 2.0));
    autograd::backward(plain.loss(draw_tables({{9, 4, 5}, {6, 1, 2}}, classes, 30)));
    const auto want = plain.named_parameters();
    const auto got = padded.named_parameters();
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_close(*autograd::gradient_of(got[i].second), *autograd::gradient_of(want[i].second),
                   want[i].first + " of " + name_of(config), kLoose);
    }
  }
}

TEST(Tabular, LossIsTheMeanOfTables) {
  const TabularConfig config = small("default");
  Model model(config);
  const std::vector<TableSize> sizes = {{9, 4, 5}, {8, 1, 2}};
  const double both = model.loss(draw_tables(sizes, 3, 40, {12, 8, 0})).item();
  const double one = model.loss(draw_tables({sizes[0]}, 3, 40)).item();
  const double other = model.loss(draw_tables({sizes[1]}, 3, 41)).item();
  EXPECT_NEAR(both, (one + other) / 2, 1e-5);
  EXPECT_EQ(model.loss(draw_tables({{5, 2, 5}}, 3, 40)).item(), 0);
}

TEST(Tabular, CellsOfAllKinds) {
  for (const TabularConfig& config : small_ones()) {
    Model model(config);
    Tables tables = draw_tables({{9, 4, 5}}, classes_of(config), 50);
    const Tensor plain = logits_of(model, tables);
    const auto set = [&](std::int64_t row, std::int64_t column, float value) {
      tables.x.data_as<float>()[row * 4 + column] = value;
    };
    set(7, 1, kNaN);
    const Tensor missing = logits_of(model, tables);
    EXPECT_NE(hash_of(missing.select(1, 7).contiguous()), hash_of(plain.select(1, 7).contiguous()));
    // A missing cell differs from the mean.
    double mean = 0;
    for (std::int64_t row = 0; row < 5; ++row) mean += tables.x.data_as<float>()[row * 4 + 1] / 5.0;
    set(7, 1, static_cast<float>(mean));
    EXPECT_NE(hash_of(logits_of(model, tables)), hash_of(missing));
    // A constant column, an empty one, one with infinities, one with tiny numbers.
    for (std::int64_t row = 0; row < 9; ++row) {
      set(row, 0, 7.3f);
      set(row, 1, kNaN);
      if (row % 3 == 0) set(row, 2, std::numeric_limits<float>::infinity());
      tables.x.data_as<float>()[row * 4 + 3] *= 1e-12f;
    }
    const Tensor strange = logits_of(model, tables);
    EXPECT_TRUE(is_finite(strange)) << name_of(config);
    // Values are standardised, so their unit does not matter.
    for (std::int64_t row = 0; row < 9; ++row) tables.x.data_as<float>()[row * 4 + 3] *= 1e12f;
    expect_close(logits_of(model, tables), strange, "unit", kLoose);
    // The value of a constant column does not matter.
    for (std::int64_t row = 0; row < 9; ++row) set(row, 0, -1e5f);
    expect_close(logits_of(model, tables), strange, "constant", kLoose);
  }
}

TEST(Tabular, PresetsRun) {
  for (const char* name : {"default", "nanotabpfn", "speedrun"}) {
    const TabularConfig config = TabularConfig::preset(name);
    const Tables tables = draw_tables({{9, 4, 5}, {7, 1, 3}}, 2, 60);
    Model model(config);
    const Tensor full = logits_of(model, tables);
    EXPECT_EQ(full.shape(), (Shape{2, 9, config.outputs()}));
    EXPECT_TRUE(std::isfinite(model.loss(tables).item()));
    Model half(config, DType::bf16);
    const Tensor rough = logits_of(half, tables);
    EXPECT_EQ(rough.dtype(), DType::bf16);
    const auto a = query_logits(rough, tables, 0).to(DType::f64).to_vector<double>();
    const auto b = query_logits(full, tables, 0).to(DType::f64).to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.05) << name;
    autograd::backward(half.loss(tables));
    const auto context = half.encode_context(tables);
    EXPECT_EQ(half.predict_logits(context, tables.x).shape(), rough.shape());
  }
}

TEST(Tabular, BinsOfNumbers) {
  TabularConfig config = small("default", true);
  config.bins = 64;
  Model model(config);
  const auto borders = model.borders()->to_vector<float>();
  const auto centres = model.centres();
  ASSERT_EQ(borders.size(), 63u);
  ASSERT_EQ(centres.size(), 64u);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    EXPECT_LT(centres[i], borders[i]);
    EXPECT_GT(centres[i + 1], borders[i]);
    EXPECT_NEAR(borders[i], -borders[62 - i], 1e-6);
  }
  EXPECT_NEAR(borders[31], 0, 1e-7);
  EXPECT_NEAR(borders[47], 1.5 * 0.6744897501960817, 1e-6);  // the upper quartile
  config.bins = 2;
  const auto halves = Model(config).centres();  // means of half a normal distribution
  EXPECT_NEAR(halves[1], 1.5 * std::sqrt(2 / 3.14159265358979), 1e-6);
  EXPECT_NEAR(halves[0], -halves[1], 1e-9);
}

TEST(Tabular, Configurations) {
  for (const TabularConfig& config : small_ones()) {
    EXPECT_EQ(TabularConfig::from_json(config.to_json()).to_json(), config.to_json());
  }
  const auto refused = [](auto&& change) {
    TabularConfig config;
    change(config);
    EXPECT_THROW(config.check(), Error);
  };
  refused([](TabularConfig& config) { config.width = 100; });
  refused([](TabularConfig& config) { config.classes = 1; });
  refused([](TabularConfig& config) { config.group = 0; });
  refused([](TabularConfig& config) { config.classes = 0, config.class_as_number = true; });
  refused([](TabularConfig& config) {
    config.classes = 0, config.decoder = models::TabularDecoder::retrieval;
  });
  EXPECT_THROW(TabularConfig::preset("large"), Error);
  EXPECT_THROW(TabularConfig::from_json("{"), Error);
  EXPECT_THROW(TabularConfig::from_json(R"({"width": 96.5})"), Error);
  EXPECT_EQ(TabularConfig::from_json("{}").to_json(), TabularConfig().to_json());
}

TEST(Tabular, BadArguments) {
  Model model(small("default"));
  const Tables good = draw_tables({{9, 4, 5}}, 3, 70);
  EXPECT_NO_THROW(model.logits(good));
  EXPECT_THROW(model.logits({good.x, good.y.slice(1, 1), good.sizes}), Error);
  EXPECT_THROW(model.logits({good.x.to(DType::f64), good.y, good.sizes}), Error);
  Tables wrong{good.x, good.y, good.sizes.clone()};
  wrong.sizes.data_as<std::int64_t>()[2] = 10;
  EXPECT_THROW(model.logits(wrong), Error);
  EXPECT_THROW(model.predict_logits(model.encode_context(good), good.x.slice(2, 1).contiguous()),
               Error);
}

// Counted by hand: width 8, one layer, 4 rows of one feature and the target, half of them context.
TEST(Tabular, FlopsOfAStep) {
  TabularConfig config;
  config.width = 8;
  config.heads = 1;
  config.hidden = 8;
  config.layers = 1;
  config.thinking = 0;
  config.classes = 2;
  const double columns = 4 * 2 * (3 * 128 + 2 * 2 * 16);  // q, k, v; scores and sums of 2
  const double target = 4 * (5 * 128 + 2 * 2 * 16);       // k, v of both, but q of the target alone
  const double one_token = 128 + 3 * 128 + 2 * 2 * 16 + 128 + 256;  // rows' attention, the MLP
  const double decoder = 4 * (128 + 32);
  EXPECT_EQ(config.step_flops(1, 4, 1), 3 * (target + 4 * one_token + decoder));
  config.layers = 2;
  EXPECT_EQ(config.step_flops(1, 4, 1), 3 * (columns + target + 12 * one_token + decoder));
  config.layers = 1;
  config.layer_order = models::LayerOrder::rows_mlp_columns;  // rows and MLP for both tokens
  EXPECT_EQ(config.step_flops(1, 4, 1), 3 * (target + 4 * 128 + 8 * (one_token - 128) + decoder));
  config.decoder = models::TabularDecoder::retrieval;  // q and k; scores and sums of 2
  EXPECT_EQ(config.step_flops(1, 4, 1),
            3 * (target + 4 * 128 + 8 * (one_token - 128) + 4 * (2 * 128 + 2 * 2 * 16)));
  config.decoder = models::TabularDecoder::linear;
  config.layer_order = models::LayerOrder::columns_rows_mlp;
  config.mean_readout = true;
  EXPECT_EQ(config.step_flops(1, 4, 1), 3 * (columns + 8 * one_token + decoder));
  // 17 features and the target as 17 tokens, or as 18.
  config.columns_per_token = 2;
  const double shared = config.step_flops(1, 4, 17);
  config.columns_per_token = 1;
  EXPECT_EQ(config.step_flops(1, 4, 16), shared);
  EXPECT_GT(config.step_flops(1, 4, 17), shared);
  // The first layer computes q, k and v from 8 inputs instead of tokens of width 16.
  config = TabularConfig::preset("nanotabpfn");
  config.width = 16;
  config.hidden = 8;
  config.layers = 2;
  const double from_numbers = 4 * 2 * (3 * 256 + 2 * 2 * 32);
  const double wider_target = 4 * (5 * 512 + 2 * 2 * 32);
  const double wider_token = 512 + 3 * 512 + 2 * 2 * 32 + 512 + 2 * 256;
  EXPECT_EQ(config.step_flops(1, 4, 1),
            3 * (from_numbers + wider_target + 12 * wider_token + 4 * (256 + 32)));
}

}  // namespace
}  // namespace causeway
