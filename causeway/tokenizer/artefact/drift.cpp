#include "causeway/tokenizer/artefact/drift.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace causeway::tokenizer {

namespace {

double stability_index(const std::vector<std::int64_t>& before,
                       const std::vector<std::int64_t>& now) {
  const auto total = [](const std::vector<std::int64_t>& counts) {
    return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  };
  const double n_before = total(before), n_now = total(now);
  if (before.size() != now.size() || n_before == 0 || n_now == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double index = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] == 0 && now[i] == 0) continue;
    const double p = std::max(static_cast<double>(now[i]), 0.5) / n_now;
    const double q = std::max(static_cast<double>(before[i]), 0.5) / n_before;
    index += (p - q) * std::log(p / q);
  }
  return index;
}

}  // namespace

std::vector<SlotDrift> drift_of(const Tokenizer& tokenizer, const Table& given) {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  std::vector<std::vector<std::int64_t>> counts = tokenizer.count_tokens(table);
  std::vector<SlotDrift> drifts;
  const double n_rows = std::max<double>(1, static_cast<double>(table.n_rows()));
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const Slot& slot = tokenizer.slots()[s];
    const Column& column = tokenizer.columns()[static_cast<std::size_t>(slot.column)];
    SlotDrift drift;
    drift.name = slot.name;
    std::int64_t unknown = 0;
    for (std::int64_t i = slot.n_values; i < slot.n_values + slot.n_unknown; ++i) {
      unknown += counts[s][static_cast<std::size_t>(i)];
    }
    drift.unknown_rate = static_cast<double>(unknown) / n_rows;
    if (slot.has_missing) drift.missing_rate = static_cast<double>(counts[s].back()) / n_rows;
    drift.missing_rate_at_fit = static_cast<double>(column.n_missing) /
                                std::max<double>(1, static_cast<double>(column.n_rows));
    drift.stability_index = stability_index(slot.counts, counts[s]);
    drift.counts = std::move(counts[s]);
    drifts.push_back(std::move(drift));
  }
  return drifts;
}

}  // namespace causeway::tokenizer
