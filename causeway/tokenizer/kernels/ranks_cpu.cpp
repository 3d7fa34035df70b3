// Planning, selection and interpolation on the CPU, one thread per column or interval; bound by the
// selection.
#include "causeway/tokenizer/kernels/ranks.h"

#include "causeway/tokenizer/kernels/column_tiles_cpu.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace causeway::kernels::cpu {

namespace {

// One column's part of the inputs and outputs of a plan.
template <class V>
struct ColumnPlan {
  QuantileMethod method;
  const double* levels;  // of all columns
  std::int64_t first_query, last_query;
  const V* thresholds;
  std::int32_t n_thresholds;
  std::int32_t n_bins;
  const std::int64_t* counts;
  PlannedColumn& column;
  std::int64_t* bounds;
  std::int32_t* query_range;
  std::uint32_t* starts;
  RankQuery* queries;  // of all columns
  V* answers;

  ColumnPlan(const Levels& wanted, const Guides& guides, const Operand& all_counts,
             const PlannedRanks& plan, std::int64_t at)
      : method(wanted.method),
        levels(static_cast<const double*>(wanted.levels.data)),
        first_query(2 * static_cast<const std::int64_t*>(wanted.firsts.data)[at]),
        last_query(2 * static_cast<const std::int64_t*>(wanted.firsts.data)[at + 1]),
        thresholds(static_cast<const V*>(guides.thresholds.data) + at * guides.pitch()),
        n_thresholds(static_cast<const GuideColumn*>(guides.columns.data)[at].n_thresholds),
        n_bins(guides.pitch()),
        counts(static_cast<const std::int64_t*>(all_counts.data) + at * (n_bins + 1)),
        column(static_cast<PlannedColumn*>(plan.columns.data)[at]),
        bounds(static_cast<std::int64_t*>(plan.bounds.data) + at * (n_bins + 1)),
        query_range(static_cast<std::int32_t*>(plan.query_range.data) + at * n_bins * 2),
        starts(static_cast<std::uint32_t*>(plan.starts.data) + at * (n_bins + 1)),
        queries(static_cast<RankQuery*>(plan.queries.data)),
        answers(static_cast<V*>(plan.answers.data)) {}

  void stack_bins() {
    bounds[0] = 0;
    for (std::int32_t bin = 0; bin < n_bins; ++bin) {
      bounds[bin + 1] = bounds[bin] + counts[bin];
      query_range[2 * bin] = std::numeric_limits<std::int32_t>::max();
      query_range[2 * bin + 1] = -1;
    }
    column.n_valid = bounds[n_bins];
    column.n_missing = counts[n_bins];
  }

  // Stores the rank of every query and registers it with its bin, unless that contains a single
  // value.
  void register_queries() {
    for (std::int64_t i = first_query; i < last_query; ++i) {
      queries[i] = {-1, -1, 0, 0, 0};
      answers[i] = V{};
      if (column.n_valid == 0) continue;
      queries[i].rank = wanted_rank(method, levels[i / 2], static_cast<int>(i % 2), column.n_valid);
      const std::int32_t bin = bin_of_rank(bounds, n_bins, queries[i].rank);
      if (holds_one_value(thresholds, n_thresholds, bin)) {
        answers[i] = thresholds[bin - 1];
        continue;
      }
      const auto number = static_cast<std::int32_t>(i - first_query);
      query_range[2 * bin] = std::min(query_range[2 * bin], number);
      query_range[2 * bin + 1] = std::max(query_range[2 * bin + 1], number);
    }
  }

  // Assigns places to the bins with queries. Returns whether all fit.
  bool place(std::int64_t room, std::int64_t& taken) {
    std::int64_t n = 0;
    for (std::int32_t bin = 0; bin < n_bins; ++bin) {
      const bool has_query = query_range[2 * bin + 1] >= 0;
      starts[bin] = has_query ? static_cast<std::uint32_t>(n) : kNotGathered;
      n += has_query ? counts[bin] : 0;
    }
    starts[n_bins] = kNotGathered;
    column.n_gathered = n;
    column.first = std::atomic_ref(taken).fetch_add(n, std::memory_order_relaxed);
    if (n < std::int64_t{kNotGathered} && column.first + n <= room) return true;
    std::fill_n(starts, n_bins, kNotGathered);
    return false;
  }

  // Converts ranks in the column to ranks in an interval.
  void localise_queries() {
    for (std::int64_t i = first_query; i < last_query; ++i) {
      RankQuery& query = queries[i];
      if (column.n_valid == 0) continue;
      const std::int32_t bin = bin_of_rank(bounds, n_bins, query.rank);
      if (starts[bin] == kNotGathered) continue;
      query.begin = column.first + starts[bin];
      query.end = query.begin + counts[bin];
      query.rank -= bounds[bin];
      const bool leads = query_range[2 * bin] == i - first_query;
      query.n_run = leads ? query_range[2 * bin + 1] - query_range[2 * bin] + 1 : 0;
    }
  }
};

// Answers the queries of one interval, starting with `first`.
template <class V>
void select_interval(V* gathered, const RankQuery* queries, std::int64_t first, V* answers) {
  const RankQuery& lead = queries[first];
  V* begin = gathered + lead.begin;
  V* end = gathered + lead.end;
  const bool sorts = lead.n_run > 2;
  if (sorts) std::sort(begin, end);
  for (std::int64_t i = first; i < first + lead.n_run; ++i) {
    if (queries[i].begin != lead.begin) continue;
    V* wanted = begin + queries[i].rank;
    if (!sorts) std::nth_element(begin, wanted, end);
    answers[i] = *wanted;
  }
}

}  // namespace

void plan_ranks(StreamView, const Levels& levels, const Guides& guides, const Operand& counts,
                std::int64_t room, const PlannedRanks& plan) {
  dispatch_column_type(guides.thresholds.dtype, [&](auto tag) {
    parallel_for(guides.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        ColumnPlan<decltype(tag)> column(levels, guides, counts, plan, at);
        column.stack_bins();
        column.register_queries();
        if (column.place(room, *static_cast<std::int64_t*>(plan.taken.data)))
          column.localise_queries();
      }
    });
  });
}

void select_ranks(StreamView, const Operand& gathered, const Operand& queries,
                  const Operand& answers) {
  dispatch_column_type(gathered.dtype, [&](auto tag) {
    using V = decltype(tag);
    const auto* all = static_cast<const RankQuery*>(queries.data);
    parallel_for(answers.shape[0], 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (all[i].n_run == 0) continue;
        select_interval(static_cast<V*>(gathered.data), all, i, static_cast<V*>(answers.data));
      }
    });
  });
}

void blend_ranks(StreamView, const Levels& levels, const PlannedRanks& plan,
                 const Operand& quantiles) {
  dispatch_column_type(plan.answers.dtype, [&](auto tag) {
    using V = decltype(tag);
    const auto* firsts = static_cast<const std::int64_t*>(levels.firsts.data);
    const auto* answers = static_cast<const V*>(plan.answers.data);
    for (std::int64_t column = 0; column + 1 < levels.firsts.shape[0]; ++column) {
      const std::int64_t n = static_cast<const PlannedColumn*>(plan.columns.data)[column].n_valid;
      for (std::int64_t i = firsts[column]; i < firsts[column + 1]; ++i) {
        const double level = static_cast<const double*>(levels.levels.data)[i];
        static_cast<double*>(quantiles.data)[i] =
            n == 0 ? 0 : blend(levels.method, level, n, answers[2 * i], answers[2 * i + 1]);
      }
    }
  });
}

}  // namespace causeway::kernels::cpu
