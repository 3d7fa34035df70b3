// Conversion of numeric columns and targets to categories and classes.
#pragma once

#include "causeway/prior/device/dataset_state.h"

namespace causeway::prior {

// Converts some columns of the mlp and tree families to categories: the number of thresholds,
// values of random rows, below the value.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void categorise_columns(W& w, Columns x) {
  const Bits128 coin = w.draws.bits(w.next_site(), 0);
  const std::uint32_t site = w.next_site();
  const std::uint32_t row_site = w.next_site();
  if (open_uniform(coin.word[0]) >= 0.2f) return;
  const float share = open_uniform(coin.word[1]);
  constexpr int kMost = 64;
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    const auto at = static_cast<std::uint32_t>(c);
    const Bits128 bits = w.draws.bits(site, at);
    if (open_uniform(bits.word[0]) >= share) return;
    note(w.team, "categorised", c);
    const float drawn = -10.0f * elementary::log(open_uniform(bits.word[1]));  // Gamma(1, 10)
    int n = static_cast<int>(elementary::nearest(drawn));
    n = n < 2 ? 2 : (n > kMost ? kMost : n);
    float* column = x.column(c);
    float bounds[kMost];
    for (int k = 0; k < n - 1; ++k) {
      const Bits128 row = w.draws.bits(row_site, at, static_cast<std::uint32_t>(k));
      bounds[k] = column[bounded(row.word[0], w.n_fit)];
    }
    note_array(w.team, "bounds", bounds, n - 1);
    const bool permuted = open_uniform(bits.word[2]) < 0.7f;
    const bool reversed = open_uniform(bits.word[3]) < 0.5f;
    Draws labels = w.draws;
    labels.key0 ^= bits.word[1];
    const Order order(labels, site, n);
    lanes.sync();
    lanes.each(w.row_end(), [&](int i) {
      int below = 0;
      for (int k = 0; k < n - 1; ++k) below += column[i] > bounds[k] ? 1 : 0;
      if (permuted) below = order(below);
      if (reversed) below = n - 1 - below;
      column[i] = static_cast<float>(below);
    });
  });
  w.team.sync();
}

// Converts a numeric target to classes. Boundaries are values of random rows, normal variates, or
// equally spaced quantiles.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void classify_target(W& w, Shared& shared, bool balanced, bool by_rank,
                                               int n_classes, float* target) {
  const std::uint32_t site = w.next_site();
  if (balanced) {
    const Scratch scratch(w.arena);
    auto* order = reinterpret_cast<std::uint32_t*>(w.arena.take(w.team.order_space(w.n_fit)));
    if (w.arena.failed) return;
    w.team.order_of(target, w.n_fit, order);
    for_each(w.team, n_classes - 1, [&](int k) {
      const auto place = static_cast<int>(static_cast<std::int64_t>(k + 1) * w.n_fit / n_classes);
      shared.boundaries[k] = target[order[place - 1]];
    });
  } else {
    for_each(w.team, n_classes - 1, [&](int k) {
      const auto at = static_cast<std::uint32_t>(k);
      shared.boundaries[k] = by_rank ? target[bounded(w.draws.bits(site, at).word[0], w.n_fit)]
                                     : w.draws.normal(site, at);
    });
  }
  w.team.sync();
  for_each(w.team, w.row_end(), [&](int row) {
    int below = 0;
    for (int k = 0; k < n_classes - 1; ++k) below += target[row] > shared.boundaries[k] ? 1 : 0;
    target[row] = static_cast<float>(below);
  });
  w.team.sync();
}

}  // namespace causeway::prior
