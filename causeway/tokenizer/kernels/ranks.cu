// Planning, selection and interpolation on the GPU. Plan: one block per column, bound by the
// latency of its few steps. Select: one block per interval, reads the gathered values once; bound
// by barriers.
#include "causeway/tokenizer/kernels/ranks.h"

#include "causeway/tokenizer/kernels/column_walk.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace causeway::kernels::cuda {

namespace {

using Counter = unsigned long long;

constexpr int kPlanThreads = 512;

// Inputs and outputs of a plan, as plain pointers for all columns.
template <class V>
struct PlanView {
  QuantileMethod method;
  const double* levels;
  const std::int64_t* firsts;
  GuideView<V> guides;
  const std::int64_t* counts;
  std::int64_t room;
  PlannedColumn* columns;
  Counter* taken;
  std::int64_t* bounds;
  std::int32_t* query_range;
  std::uint32_t* starts;
  RankQuery* queries;
  V* answers;

  PlanView(const Levels& wanted, const Guides& all_guides, const Operand& all_counts,
           std::int64_t values, const PlannedRanks& plan)
      : method(wanted.method),
        levels(static_cast<const double*>(wanted.levels.data)),
        firsts(static_cast<const std::int64_t*>(wanted.firsts.data)),
        guides(all_guides),
        counts(static_cast<const std::int64_t*>(all_counts.data)),
        room(values),
        columns(static_cast<PlannedColumn*>(plan.columns.data)),
        taken(static_cast<Counter*>(plan.taken.data)),
        bounds(static_cast<std::int64_t*>(plan.bounds.data)),
        query_range(static_cast<std::int32_t*>(plan.query_range.data)),
        starts(static_cast<std::uint32_t*>(plan.starts.data)),
        queries(static_cast<RankQuery*>(plan.queries.data)),
        answers(static_cast<V*>(plan.answers.data)) {}
};

// Exclusive prefix sums of of(i), i from 0 to n, a block's width at a time: calls put(i, sum); all
// threads get the total.
template <class Of, class Put>
__device__ std::int64_t block_sums(std::int32_t n, const Of& of, const Put& put) {
  using Scan = cub::BlockScan<std::int64_t, kPlanThreads>;
  __shared__ typename Scan::TempStorage space;
  std::int64_t before = 0;
  for (std::int32_t base = 0; base < n; base += kPlanThreads) {
    const std::int32_t i = base + static_cast<std::int32_t>(threadIdx.x);
    std::int64_t sum, total;
    Scan(space).ExclusiveSum(i < n ? of(i) : 0, sum, total);
    if (i < n) put(i, before + sum);
    before += total;
    __syncthreads();
  }
  return before;
}

// The same steps as on the CPU (ranks_cpu.cpp), each for all bins or queries at once.
template <class V>
__global__ void __launch_bounds__(kPlanThreads) plan_kernel(PlanView<V> view) {
  __shared__ std::int64_t first;
  const std::int64_t at = blockIdx.x;
  const std::int32_t n_bins = view.guides.pitch;
  const std::int64_t* counts = view.counts + at * (n_bins + 1);
  std::int64_t* bounds = view.bounds + at * (n_bins + 1);
  std::int32_t* query_range = view.query_range + at * n_bins * 2;
  std::uint32_t* starts = view.starts + at * (n_bins + 1);
  const V* thresholds = view.guides.thresholds + at * n_bins;
  const std::int32_t n_thresholds = view.guides.columns[at].n_thresholds;
  const std::int64_t first_query = 2 * view.firsts[at], last_query = 2 * view.firsts[at + 1];

  const std::int64_t n_valid = block_sums(
      n_bins, [&](std::int32_t bin) { return counts[bin]; },
      [&](std::int32_t bin, std::int64_t sum) {
        bounds[bin] = sum;
        query_range[2 * bin] = std::numeric_limits<std::int32_t>::max();
        query_range[2 * bin + 1] = -1;
      });
  if (threadIdx.x == 0) bounds[n_bins] = n_valid;
  __syncthreads();

  for (std::int64_t i = first_query + threadIdx.x; i < last_query; i += kPlanThreads) {
    RankQuery query{-1, -1, 0, 0, 0};
    view.answers[i] = V{};
    if (n_valid > 0) {
      query.rank = wanted_rank(view.method, view.levels[i / 2], static_cast<int>(i % 2), n_valid);
      const std::int32_t bin = bin_of_rank(bounds, n_bins, query.rank);
      if (holds_one_value(thresholds, n_thresholds, bin)) {
        view.answers[i] = thresholds[bin - 1];
      } else {
        const auto number = static_cast<std::int32_t>(i - first_query);
        atomicMin(query_range + 2 * bin, number);
        atomicMax(query_range + 2 * bin + 1, number);
      }
    }
    view.queries[i] = query;
  }
  __syncthreads();

  const std::int64_t n_gathered = block_sums(
      n_bins, [&](std::int32_t bin) { return query_range[2 * bin + 1] >= 0 ? counts[bin] : 0; },
      [&](std::int32_t bin, std::int64_t sum) {
        starts[bin] =
            query_range[2 * bin + 1] >= 0 ? static_cast<std::uint32_t>(sum) : kNotGathered;
      });
  if (threadIdx.x == 0) {
    first = static_cast<std::int64_t>(atomicAdd(view.taken, static_cast<Counter>(n_gathered)));
    view.columns[at] = {n_valid, counts[n_bins], n_gathered, first};
    starts[n_bins] = kNotGathered;
  }
  __syncthreads();
  if (n_gathered >= std::int64_t{kNotGathered} || first + n_gathered > view.room) {
    for (std::int32_t bin = threadIdx.x; bin < n_bins; bin += kPlanThreads)
      starts[bin] = kNotGathered;
    return;
  }

  for (std::int64_t i = first_query + threadIdx.x; i < last_query; i += kPlanThreads) {
    if (n_valid == 0) break;
    RankQuery query = view.queries[i];
    const std::int32_t bin = bin_of_rank(bounds, n_bins, query.rank);
    if (starts[bin] == kNotGathered) continue;
    query.begin = first + starts[bin];
    query.end = query.begin + counts[bin];
    query.rank -= bounds[bin];
    const bool leads = query_range[2 * bin] == i - first_query;
    query.n_run = leads ? query_range[2 * bin + 1] - query_range[2 * bin] + 1 : 0;
    view.queries[i] = query;
  }
}

constexpr int kSelectThreads = 256;
constexpr int kDigitBits = 8;  // one digit value per thread
constexpr int kKeptKeys = 4096;

// Radix selection in one interval of keys, in shared memory if they fit.
template <class V>
class Selection {
 public:
  using Key = SortKey<V>;
  struct Space {
    union {
      typename cub::BlockReduce<Key, kSelectThreads>::TempStorage reduce;
      typename cub::BlockScan<std::uint32_t, kSelectThreads>::TempStorage scan;
    };
    std::uint32_t histogram[1 << kDigitBits];
    Key keys[kKeptKeys];
    Key low, high, next;
    std::int64_t rank;
    std::uint32_t digit;
  };

  __device__ Selection(Space& space, const V* values, std::int64_t count)
      : space_(space), values_(values), count_(count), kept_(count <= kKeptKeys) {
    Key low = static_cast<Key>(~Key{0}), high = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += kSelectThreads) {
      const Key key = sort_key(values[i]);
      if (kept_) space.keys[i] = key;
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
    low = cub::BlockReduce<Key, kSelectThreads>(space.reduce).Reduce(low, Less());
    __syncthreads();
    high = cub::BlockReduce<Key, kSelectThreads>(space.reduce).Reduce(high, Greater());
    if (threadIdx.x == 0) {
      space.low = low;
      space.high = high;
    }
    __syncthreads();
  }

  // The rank-th smallest. All threads must call it, and all get the result.
  __device__ V find(std::int64_t rank) {
    int left = bits_of(static_cast<Key>(space_.low ^ space_.high));
    Key prefix = left >= static_cast<int>(8 * sizeof(Key)) ? Key{0} : space_.high >> left;
    behind_ = count_ - 1 - rank;
    while (left > 0) {
      const int width = left < kDigitBits ? left : kDigitBits;
      const int shift = left - width;
      count_digits(prefix, left, shift, width);
      pick_digit(rank);
      prefix = static_cast<Key>((prefix << width) | space_.digit);
      rank = space_.rank;
      behind_ = space_.histogram[space_.digit] - 1 - rank;
      left = shift;
      __syncthreads();
    }
    last_ = prefix;
    return value_of(prefix);
  }

  // The successor of the result of the preceding find().
  __device__ V find_next() {
    if (behind_ > 0) return value_of(last_);
    Key next = static_cast<Key>(~Key{0});
    for (std::int64_t i = threadIdx.x; i < count_; i += kSelectThreads) {
      const Key key = kept_ ? space_.keys[i] : sort_key(values_[i]);
      next = key > last_ && key < next ? key : next;
    }
    next = cub::BlockReduce<Key, kSelectThreads>(space_.reduce).Reduce(next, Less());
    if (threadIdx.x == 0) space_.next = next;
    __syncthreads();
    return value_of(space_.next);
  }

 private:
  static __device__ V value_of(Key key) {
    V value;
    value_of_key(key, value);
    return value;
  }
  struct Less {
    __device__ Key operator()(Key a, Key b) const { return a < b ? a : b; }
  };
  struct Greater {
    __device__ Key operator()(Key a, Key b) const { return a > b ? a : b; }
  };
  static __device__ int bits_of(std::uint32_t key) { return 32 - __clz(static_cast<int>(key)); }
  static __device__ int bits_of(std::uint64_t key) {
    return 64 - __clzll(static_cast<long long>(key));
  }

  __device__ void count_digits(Key prefix, int left, int shift, int width) {
    space_.histogram[threadIdx.x] = 0;
    __syncthreads();
    const bool all = left >= static_cast<int>(8 * sizeof(Key));
    for (std::int64_t i = threadIdx.x; i < count_; i += kSelectThreads) {
      const Key key = kept_ ? space_.keys[i] : sort_key(values_[i]);
      if (all || (key >> left) == prefix) {
        atomicAdd(space_.histogram + ((key >> shift) & ((Key{1} << width) - 1)), 1u);
      }
    }
    __syncthreads();
  }

  // Finds the digit that contains the rank, and the rank within it.
  __device__ void pick_digit(std::int64_t rank) {
    const std::uint32_t own = space_.histogram[threadIdx.x];
    std::uint32_t before;
    cub::BlockScan<std::uint32_t, kSelectThreads>(space_.scan).ExclusiveSum(own, before);
    if (rank >= before && rank < std::int64_t{before} + own) {
      space_.digit = threadIdx.x;
      space_.rank = rank - before;
    }
    __syncthreads();
  }

  Space& space_;
  const V* values_;
  std::int64_t count_;
  std::int64_t behind_ = 0;  // keys equal to the last result with higher ranks
  Key last_ = 0;
  bool kept_;
};

// One block for the two queries of a level, each with the run that it starts.
template <class V>
__global__ void __launch_bounds__(kSelectThreads)
    select_kernel(const V* gathered, const RankQuery* queries, std::int64_t n_queries, V* answers) {
  __shared__ typename Selection<V>::Space space;
  for (std::int64_t at = 2 * std::int64_t{blockIdx.x}; at < 2 * std::int64_t{blockIdx.x} + 2;
       ++at) {
    if (at >= n_queries) return;
    const RankQuery lead = queries[at];
    if (lead.n_run == 0) continue;
    Selection<V> selection(space, gathered + lead.begin, lead.end - lead.begin);
    std::int64_t last_rank = -2;
    bool searched = false;  // by find(), at the last rank
    V answer{};
    for (std::int64_t i = at; i < at + lead.n_run; ++i) {
      const RankQuery query = queries[i];
      if (query.begin != lead.begin) continue;
      if (query.rank != last_rank) {
        const bool follows = searched && query.rank == last_rank + 1;
        answer = follows ? selection.find_next() : selection.find(query.rank);
        searched = !follows;
      }
      last_rank = query.rank;
      if (threadIdx.x == 0) answers[i] = answer;
    }
    __syncthreads();
  }
}

template <class V>
__global__ void blend_kernel(QuantileMethod method, const double* levels,
                             const std::int64_t* firsts, const PlannedColumn* columns,
                             const V* answers, double* quantiles) {
  const std::int64_t n = columns[blockIdx.x].n_valid;
  const std::int64_t last = firsts[blockIdx.x + 1];
  for (std::int64_t i = firsts[blockIdx.x] + threadIdx.x; i < last; i += blockDim.x) {
    quantiles[i] = n == 0 ? 0 : blend(method, levels[i], n, answers[2 * i], answers[2 * i + 1]);
  }
}

}  // namespace

void plan_ranks(StreamView stream, const Levels& levels, const Guides& guides,
                const Operand& counts, std::int64_t room, const PlannedRanks& plan) {
  dispatch_column_type(guides.thresholds.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch(
        {"plan_ranks", stream, dim3(static_cast<unsigned>(guides.n_columns())), dim3(kPlanThreads)},
        plan_kernel<V>, PlanView<V>(levels, guides, counts, room, plan));
  });
}

void select_ranks(StreamView stream, const Operand& gathered, const Operand& queries,
                  const Operand& answers) {
  const std::int64_t n_queries = answers.shape[0];
  if (n_queries == 0) return;
  dispatch_column_type(gathered.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch({"select_ranks", stream, dim3(static_cast<unsigned>((n_queries + 1) / 2)),
            dim3(kSelectThreads)},
           select_kernel<V>, static_cast<const V*>(gathered.data),
           static_cast<const RankQuery*>(queries.data), n_queries, static_cast<V*>(answers.data));
  });
}

void blend_ranks(StreamView stream, const Levels& levels, const PlannedRanks& plan,
                 const Operand& quantiles) {
  dispatch_column_type(plan.answers.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch(
        {"blend_ranks", stream, dim3(static_cast<unsigned>(levels.firsts.shape[0] - 1)), dim3(256)},
        blend_kernel<V>, levels.method, static_cast<const double*>(levels.levels.data),
        static_cast<const std::int64_t*>(levels.firsts.data),
        static_cast<const PlannedColumn*>(plan.columns.data),
        static_cast<const V*>(plan.answers.data), static_cast<double*>(quantiles.data));
  });
}

}  // namespace causeway::kernels::cuda
