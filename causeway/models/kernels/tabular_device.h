// The inputs of a tabular transformer, element by element.
#pragma once

#include "causeway/core/host_device.h"
#include "causeway/kernels/math_device.h"

#include <cstdint>
#include <limits>

namespace causeway::kernels {

// A radial encoding is the values of Gaussian bumps, evenly spaced over the standardised values.
inline constexpr int kBumps = 16;
inline constexpr float kFirstBump = -3.0f;
inline constexpr float kBumpSpacing = 0.4f;  // also the bumps' standard deviation

inline constexpr int kClassCode = 32;                // elements of a class code
inline constexpr float kCodeElement = 0.176776695f;  // so that a code has length 1

inline constexpr int kMissingPart = 1;  // of a cell; the first is its value
inline constexpr int kRankPart = 2;
inline constexpr int kFirstBumpPart = 3;

// Tables of up to this many features have a token per feature.
inline constexpr std::int64_t kOwnTokens = 16;

// The layout of a token's input vector. Elements for other kinds of tokens are 0. A feature token
// reads the cells of its group of columns. The parts of a cell are its value, a mark if it is
// missing and, with `radial`, its rank and bumps.
struct TableInputs {
  int group = 1;              // columns a feature token reads: its own and others after it
  int columns_per_token = 1;  // of wide tables; at most `group`
  int n_classes = 0;   // one-hot classes, or elements of a class code; 0: the target is a number
  int n_thinking = 0;  // rows before the table's, one-hot
  bool mean_for_queries = false;  // query rows get the mean target instead of a mark
  bool standardise_target = true;
  bool radial = false;
  bool class_codes = false;      // classes are codes drawn per table, of n_classes elements
  bool labels_in_cells = false;  // feature tokens of context rows get the target's inputs too

  // Offsets. First are the cells: part p of member m of the group is element p * group + m.
  CAUSEWAY_HOST_DEVICE int n_parts() const { return radial ? kFirstBumpPart + kBumps : kRankPart; }
  CAUSEWAY_HOST_DEVICE int feature() const { return n_parts() * group; }
  CAUSEWAY_HOST_DEVICE int target() const { return feature() + 1; }
  CAUSEWAY_HOST_DEVICE int context() const { return target() + (n_classes > 0 ? n_classes : 1); }
  CAUSEWAY_HOST_DEVICE int query() const { return context() + 1; }
  CAUSEWAY_HOST_DEVICE int thinking() const { return query() + 1; }
  CAUSEWAY_HOST_DEVICE int used() const { return thinking() + n_thinking; }
  CAUSEWAY_HOST_DEVICE int width() const { return (used() + 7) / 8 * 8; }

  // The number of tokens of n features, which does not decrease with n.
  CAUSEWAY_HOST_DEVICE std::int64_t feature_tokens(std::int64_t n) const {
    const std::int64_t own = n < kOwnTokens ? n : kOwnTokens;
    const std::int64_t shared = (n + columns_per_token - 1) / columns_per_token;
    return shared > own ? shared : own;
  }

  // The column that a member of the group of a feature token reads, of n columns. The first members
  // of all tokens read every column; the others read the columns 1, 3, 7, ... after the first.
  CAUSEWAY_HOST_DEVICE std::int64_t source(std::int64_t token, int member, std::int64_t n) const {
    const std::int64_t first = token * n / feature_tokens(n);
    const std::int64_t after =
        member < columns_per_token ? member : (std::int64_t{1} << member) - 1;
    return (first + after) % n;
  }
};

inline constexpr float kMaxDeviations = 100.0f;  // standardised values are clipped
inline constexpr std::int64_t kNoTarget = -100;
inline constexpr float kNoValue = std::numeric_limits<float>::infinity();  // among sorted values

// 1 / deviation, or 0 for a constant, whose deviation may be a rounding error of the mean.
CAUSEWAY_HOST_DEVICE float inverse_deviation(double mean, double deviation) {
  const double least = 1e-7 * (mean < 0 ? -mean : mean);
  return deviation > least && deviation > 1e-30 ? static_cast<float>(1 / deviation) : 0.0f;
}
CAUSEWAY_HOST_DEVICE bool is_number(float value) { return value - value == 0; }

// Mixes all bits of a word (splitmix64).
CAUSEWAY_HOST_DEVICE std::uint64_t mix_bits(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

struct TableView {
  const float* x;
  const float* y;
  const std::int64_t* sizes;
  const float* statistics;
  std::int64_t n_rows;
  std::int64_t n_features;
  const float* sorted = nullptr;  // for `radial`
  std::int64_t n_sorted = 0;

  CAUSEWAY_HOST_DEVICE const float* statistics_of(std::int64_t table, std::int64_t column) const {
    return statistics + 2 * (table * (n_features + 1) + column);
  }
  CAUSEWAY_HOST_DEVICE float standardised(std::int64_t table, std::int64_t column,
                                          float value) const {
    const float* of = statistics_of(table, column);
    if (of[1] == 0) return 0.0f;
    const float z = (value - of[0]) * of[1];
    return z < -kMaxDeviations ? -kMaxDeviations : (z > kMaxDeviations ? kMaxDeviations : z);
  }

  // Element k of a token of a row of a table: token 0 is the target's, rows count from the first
  // thinking row.
  CAUSEWAY_HOST_DEVICE float input(const TableInputs& inputs, std::int64_t table, std::int64_t row,
                                   std::int64_t token, int k) const {
    if (k >= inputs.thinking() || row < inputs.n_thinking) {
      return row < inputs.n_thinking && k == inputs.thinking() + row ? 1.0f : 0.0f;
    }
    const std::int64_t own = row - inputs.n_thinking;
    if (own >= sizes[3 * table]) return 0.0f;
    return token == 0 ? target_input(inputs, table, own, k)
                      : feature_input(inputs, table, own, token - 1, k);
  }

  // A part of the cell at (row, column) of a table; rows do not count thinking rows.
  CAUSEWAY_HOST_DEVICE float cell(const TableInputs& inputs, std::int64_t table, std::int64_t row,
                                  std::int64_t column, int part) const {
    const float value = x[(table * n_rows + row) * n_features + column];
    const bool is_missing = value != value;
    if (part == kMissingPart) return is_missing ? 1.0f : 0.0f;
    if (is_missing) return 0.0f;
    if (inputs.radial && part == kRankPart) return rank(table, column, value);
    const float z = standardised(table, column, value);
    return inputs.radial && part >= kFirstBumpPart ? bump(z, part - kFirstBumpPart) : z;
  }

  // The training target of a row: its class, or the bin between borders.
  CAUSEWAY_HOST_DEVICE std::int64_t target(std::int64_t table, std::int64_t row,
                                           const float* borders, std::int64_t n_borders) const {
    if (row < sizes[3 * table + 2] || row >= sizes[3 * table]) return kNoTarget;
    const float value = y[table * n_rows + row];
    if (value != value) return kNoTarget;
    if (n_borders == 0) return static_cast<std::int64_t>(value);
    const float z = standardised(table, n_features, value);
    std::int64_t low = 0;
    std::int64_t high = n_borders;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (borders[middle] <= z)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

 private:
  CAUSEWAY_HOST_DEVICE float feature_input(const TableInputs& inputs, std::int64_t table,
                                           std::int64_t row, std::int64_t token, int k) const {
    const std::int64_t n = sizes[3 * table + 1];
    if (token >= inputs.feature_tokens(n)) return 0.0f;
    if (k == inputs.feature()) return 1.0f;
    if (k > inputs.feature()) {
      const bool is_labelled = inputs.labels_in_cells && row < sizes[3 * table + 2];
      return is_labelled ? target_input(inputs, table, row, k) : 0.0f;
    }
    return cell(inputs, table, row, inputs.source(token, k % inputs.group, n), k / inputs.group);
  }

  // Bits that are drawn from the class and the table: the number of context rows and features, and
  // the sum of the context's classes, which is exact. Classes thus have other codes in each table,
  // whatever the order of its rows, and there is a code for any number of classes.
  CAUSEWAY_HOST_DEVICE std::uint64_t class_code(std::int64_t table, float value) const {
    const std::int64_t* size = sizes + 3 * table;
    const double total =
        static_cast<double>(statistics_of(table, n_features)[0]) * static_cast<double>(size[2]);
    std::uint64_t bits = mix_bits(whole(total + 0.5));
    bits = mix_bits(bits ^ static_cast<std::uint64_t>(size[1]));
    bits = mix_bits(bits ^ static_cast<std::uint64_t>(size[2]));
    return mix_bits(bits ^ whole(static_cast<double>(value)));
  }

  // Labels that are no classes, negative or NaN, are 0.
  CAUSEWAY_HOST_DEVICE static std::uint64_t whole(double value) {
    return value >= 0 && value < 1e15 ? static_cast<std::uint64_t>(value) : 0;
  }

  CAUSEWAY_HOST_DEVICE static float bump(float z, int i) {
    const float t = (z - kFirstBump) / kBumpSpacing - static_cast<float>(i);
    return math::exp(-0.5f * t * t);
  }

  // The fraction of the column's context values below `value`; equal ones count half.
  CAUSEWAY_HOST_DEVICE float rank(std::int64_t table, std::int64_t column, float value) const {
    const float* from = sorted + (table * n_features + column) * n_sorted;
    const std::int64_t n = count_sorted(from, n_sorted, kNoValue, false);
    if (n == 0 || statistics_of(table, column)[1] == 0) return 0.5f;
    const std::int64_t less = count_sorted(from, n, value, false);
    const std::int64_t not_more = count_sorted(from, n, value, true);
    return static_cast<float>(less + not_more) / static_cast<float>(2 * n);
  }

  // How many of `count` ascending values are less than `bound`, or equal.
  CAUSEWAY_HOST_DEVICE static std::int64_t count_sorted(const float* values, std::int64_t count,
                                                        float bound, bool or_equal) {
    std::int64_t low = 0;
    while (low < count) {
      const std::int64_t middle = (low + count) / 2;
      const float value = values[middle];
      if (value < bound || (or_equal && value == bound))
        low = middle + 1;
      else
        count = middle;
    }
    return low;
  }

  CAUSEWAY_HOST_DEVICE float target_input(const TableInputs& inputs, std::int64_t table,
                                          std::int64_t row, int k) const {
    const bool is_context = row < sizes[3 * table + 2];
    const bool as_context = is_context || inputs.mean_for_queries;
    if (k == inputs.context()) return as_context ? 1.0f : 0.0f;
    if (k == inputs.query()) return as_context ? 0.0f : 1.0f;
    if (k < inputs.target() || k > inputs.query()) return 0.0f;
    if (!is_context) {
      const bool is_mean = inputs.mean_for_queries && !inputs.standardise_target;
      return is_mean ? statistics_of(table, n_features)[0] : 0.0f;
    }
    const float value = y[table * n_rows + row];
    if (inputs.class_codes) {
      const bool bit = (class_code(table, value) >> (k - inputs.target()) & 1) != 0;
      return bit ? kCodeElement : -kCodeElement;
    }
    if (inputs.n_classes > 0) return k - inputs.target() == static_cast<int>(value) ? 1.0f : 0.0f;
    return inputs.standardise_target ? standardised(table, n_features, value) : value;
  }
};

}  // namespace causeway::kernels
