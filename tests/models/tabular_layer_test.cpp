// Parts of a layer of the tabular transformer against plain definitions.
#include "causeway/models/tabular.h"

#include "tests/models/tables.h"

#include <cmath>

namespace causeway {
namespace {

using models::Tables;
using models::TabularConfig;
using models::TabularTransformer;

TEST(TabularLayer, SoftmaxIsNotScaledInitially) {
  TabularConfig config = small("default");
  const Tables tables = draw_tables({{9, 4, 5}, {7, 2, 1}}, 3, 4);
  Generator generator(5);
  TabularTransformer plain(config, {DType::f32, Device::cpu(), &generator});
  config.scaled_softmax = true;
  Generator same(5);
  TabularTransformer scaled(config, {DType::f32, Device::cpu(), &same});
  expect_same_bytes(logits_of(scaled, tables), logits_of(plain, tables), "initial");
  EXPECT_EQ(scaled.n_parameters(), config.n_parameters());
}

// Scaling queries equals scaling the weights that compute them.
TEST(TabularLayer, ScaledSoftmaxEqualsScaledWeights) {
  TabularConfig config = small("default");
  config.scaled_softmax = true;
  for (const std::int64_t n_context : {1, 5, 40}) {
    const Tables tables = draw_tables({{50, 4, n_context}}, 3, 4);
    TabularTransformer scaled(config);
    draw_scales(scaled);
    TabularTransformer plain(config);
    plain.load_state(scaled.state());
    for (const auto& [name, parameter] : plain.named_parameters()) {
      const auto at = name.find(".scale.slope");
      if (at == std::string::npos) continue;
      const std::string layer = name.substr(0, at);
      auto state = plain.state();
      const Tensor slope = state.at(layer + ".scale.slope");
      const Tensor offset = state.at(layer + ".scale.offset");
      const auto n_keys = static_cast<double>(n_context + config.thinking);
      const Tensor scale = (slope * std::log(n_keys) + offset).reshape({config.heads, 1, 1});
      for (const char* part : {".qkv.weight", ".qkv.bias"}) {
        const Tensor all = state.at(layer + part).reshape({config.heads, 3, 8, -1});
        const Tensor q = all.select(1, 0);
        q.copy_from(q * scale);
      }
      slope.copy_from(full({}, 0.0f));
      offset.copy_from(full({}, 1.0f));
    }
    expect_close(query_logits(logits_of(scaled, tables), tables, 0),
                 query_logits(logits_of(plain, tables), tables, 0), name_of(config), 20);
  }
}

}  // namespace
}  // namespace causeway
