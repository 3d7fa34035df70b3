// The output form of a dataset: column and label order, valid splits, missing cells.
#pragma once

#include "causeway/prior/device/dataset_state.h"
#include "causeway/prior/device/shape.h"

namespace causeway::prior {

// Shuffles n values, by one thread.
CAUSEWAY_HOST_DEVICE_CALL void shuffle(const Draws& draws, std::uint32_t site, std::int16_t* values,
                                       int n) {
  for (int i = n - 1; i > 0; --i) {
    const int j = bounded(draws.bits(site, static_cast<std::uint32_t>(i)).word[0], i + 1);
    const std::int16_t moved = values[i];
    values[i] = values[j];
    values[j] = moved;
  }
}

// Whether context and query rows have the same classes, and more than one, with rows in the order
// of `place`.
template <class W, class Place>
CAUSEWAY_HOST_DEVICE_CALL bool split_is_valid(const W& w, int n_train, const float* target,
                                              const Place& place) {
  std::uint64_t train = 0;
  std::uint64_t test = 0;
  for_each(w.team, w.n_fit, [&](int i) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<int>(target[place(i)]);
    if (i < n_train)
      train |= bit;
    else
      test |= bit;
  });
  train = w.team.any_bits(train);
  test = w.team.any_bits(test);
  return train == test && (train & (train - 1)) != 0;
}

// Chooses the columns to keep, and the output order of columns and labels.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict arrange(W& w, const Recipe& recipe, const DatasetShape& shape,
                                          Shared& shared, Columns columns) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t label_site = w.next_site();
  const Scratch scratch(w.arena);
  float* varies = w.arena.take(shape.n_features);
  if (w.arena.failed) return Verdict::too_wide;
  w.team.columns(shape.n_features, [&](int c, const auto& lanes) {
    const float* column = columns.column(c);
    const float high = lanes.greatest(w.n_fit, -3.4e38f, [&](int i) { return column[i]; });
    const float low = lanes.greatest(w.n_fit, -3.4e38f, [&](int i) { return -column[i]; });
    lanes.each(1, [&](int) { varies[c] = high > -low ? 1.0f : 0.0f; });
  });
  w.team.sync();
  if (w.team.rank() == 0) {
    std::int16_t order[kMostFeatures];
    for (int c = 0; c < shape.n_features; ++c) order[c] = static_cast<std::int16_t>(c);
    if (shape.family != Family::simple) shuffle(w.draws, site, order, shape.n_features);
    shared.n_features = 0;
    for (int c = 0; c < shape.n_features; ++c) {
      if (!recipe.drop_constant || varies[order[c]] != 0.0f) {
        shared.feature_order[shared.n_features++] = order[c];
      }
    }
    for (int k = 0; k < shape.n_classes; ++k) shared.label_order[k] = static_cast<std::int16_t>(k);
    shuffle(w.draws, label_site, shared.label_order, shape.n_classes);
  }
  w.team.sync();
  return shared.n_features == 0 ? Verdict::no_features : Verdict::accepted;
}

// Sets cells to missing (NaN): at random, by the column's own value, or by another column's value.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void drop_cells(W& w, const Recipe& recipe, int n_features, float* x,
                                          std::int64_t row_stride) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t cell_site = w.next_site();
  if (recipe.missing_high <= 0.0f) return;
  const Bits128 common = w.draws.bits(site, 0, 0);
  const float rate = elementary::fma(recipe.missing_high - recipe.missing_low,
                                     open_uniform(common.word[0]), recipe.missing_low);
  const auto how = static_cast<MissingBy>(1 + bounded(common.word[1], 3));
  // A feature may depend on a later one in this order, whose cells are not missing yet.
  for_each(w.team, w.n_fit, [&](int row) {
    float* values = x + row * row_stride;
    // The other world misses the same cells.
    float* others = w.n_rows > w.n_fit ? values + w.n_fit * row_stride : nullptr;
    for (int f = 0; f < n_features; ++f) {
      const auto at = static_cast<std::uint32_t>(f);
      const float u = w.draws.uniform(cell_site, static_cast<std::uint32_t>(row), at);
      // Up to twice as likely at high values; the mean of the logistic function is about 1/2.
      float likely = rate;
      if (how == MissingBy::value) likely = 2.0f * rate * sigmoid_of(2.0f * values[f]);
      if (how == MissingBy::other_column && n_features > 1) {
        const int later = f + 1 < n_features ? f + 1 : 0;
        if (later > f) likely = 2.0f * rate * sigmoid_of(2.0f * values[later]);
      }
      if (u >= likely) continue;
      values[f] = elementary::from_bits(0x7fc00000u);
      if (others != nullptr) others[f] = values[f];
    }
  });
  w.team.sync();
}

}  // namespace causeway::prior
