#include "causeway/train/gradient_buckets.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace causeway::train {

namespace {

constexpr std::int64_t kAlignment = 64;  // elements: 256 bytes of f32
constexpr std::size_t kLeastBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::size_t kUsualBuckets = 8;  // enough for the reductions to overlap

std::int64_t padded(std::int64_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

class Planner {
 public:
  Planner(const std::vector<Tensor>& parameters, const BucketOptions& options)
      : parameters_(parameters),
        options_(options),
        loads_(static_cast<std::size_t>(options.n_ranks)) {
    std::size_t total = 0;
    for (const Tensor& parameter : parameters) {
      total += static_cast<std::size_t>(parameter.numel()) * sizeof(float);
    }
    bytes_ = options.bytes > 0 ? options.bytes
                               : std::clamp(total / kUsualBuckets, kLeastBytes, kMostBytes);
  }

  std::vector<BucketLayout> run() {
    std::map<Key, Open> open;
    for (std::size_t i = parameters_.size(); i-- > 0;) {
      Open& bucket = open[key_of(i)];
      bucket.members.push_back(i);
      bucket.bytes += static_cast<std::size_t>(parameters_[i].numel()) * sizeof(float);
      // Whole parameters balance only if there are several per rank.
      const bool few = is_whole(i) && bucket.members.size() < 2 * loads_.size();
      if (bucket.bytes >= bytes_ && !few) close(std::exchange(bucket, {}).members);
    }
    for (const auto& [key, bucket] : open) {
      if (!bucket.members.empty()) close(bucket.members);
    }
    return std::move(layouts_);
  }

 private:
  using Key = std::tuple<bool, int, DType>;
  struct Open {
    std::vector<std::size_t> members;
    std::size_t bytes = 0;
  };

  bool is_whole(std::size_t i) const { return !options_.whole.empty() && options_.whole[i]; }
  Key key_of(std::size_t i) const {
    return {is_whole(i), options_.kinds.empty() ? 0 : options_.kinds[i], parameters_[i].dtype()};
  }

  void close(const std::vector<std::size_t>& members) {
    BucketLayout layout;
    layout.dtype = parameters_[members[0]].dtype();
    if (is_whole(members[0])) {
      distribute(members, layout);
    } else {
      split(members, layout);
    }
    layouts_.push_back(std::move(layout));
  }

  void split(const std::vector<std::size_t>& members, BucketLayout& layout) {
    std::int64_t total = 0;
    for (const std::size_t i : members) total += padded(parameters_[i].numel());
    const auto n = static_cast<std::int64_t>(loads_.size());
    layout.part = padded(std::max<std::int64_t>((total + n - 1) / n, 1));
    std::int64_t offset = 0;
    for (const std::size_t i : members) {
      const std::int64_t numel = parameters_[i].numel();
      for (std::int64_t begin = 0; begin < numel;) {
        const std::int64_t room = layout.part - (offset + begin) % layout.part;
        const std::int64_t count = std::min(room, numel - begin);
        layout.pieces.push_back({i, begin, count, offset + begin});
        loads_[static_cast<std::size_t>((offset + begin) / layout.part)] += count;
        begin += count;
      }
      offset += padded(numel);
    }
  }

  // The largest first.
  void distribute(std::vector<std::size_t> members, BucketLayout& layout) {
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return parameters_[a].numel() > parameters_[b].numel();
    });
    std::vector<std::int64_t> used(loads_.size());
    std::vector<std::size_t> owners;
    for (const std::size_t i : members) {
      const auto least =
          static_cast<std::size_t>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
      owners.push_back(least);
      layout.pieces.push_back({i, 0, parameters_[i].numel(), used[least]});
      used[least] += padded(parameters_[i].numel());
      loads_[least] += parameters_[i].numel();
    }
    layout.part = std::max<std::int64_t>(*std::max_element(used.begin(), used.end()), kAlignment);
    for (std::size_t p = 0; p < owners.size(); ++p) {
      layout.pieces[p].offset += static_cast<std::int64_t>(owners[p]) * layout.part;
    }
  }

  const std::vector<Tensor>& parameters_;
  const BucketOptions& options_;
  std::size_t bytes_ = 0;
  std::vector<std::int64_t> loads_;  // elements that each rank owns so far
  std::vector<BucketLayout> layouts_;
};

}  // namespace

std::vector<BucketLayout> plan_buckets(const std::vector<Tensor>& parameters,
                                       const BucketOptions& options) {
  return Planner(parameters, options).run();
}

}  // namespace causeway::train
