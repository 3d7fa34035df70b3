#include "causeway/train/gradient_sync.h"

#include "causeway/core/error.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <set>

#include <fmt/format.h>

namespace causeway::train {

namespace {

// Bytes; parameters start at multiples of it, for vector loads.
constexpr std::int64_t kAlignment = 256;

std::int64_t padded(const Tensor& parameter) {
  const auto step = kAlignment / static_cast<std::int64_t>(size_of(parameter.dtype()));
  return (parameter.numel() + step - 1) / step * step;
}

void require_parameters(const std::vector<Tensor>& parameters) {
  std::set<const autograd::Record*> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& parameter = parameters[i];
    const char* problem = nullptr;
    if (!autograd::requires_grad(parameter))
      problem = "does not require a gradient";
    else if (!autograd::is_leaf(parameter))
      problem = "is not a leaf but the result of an operation";
    else if (!seen.insert(parameter.record().get()).second)
      problem = "is listed twice";
    else if (parameter.device() != parameters[0].device())
      problem = "is on another device";
    if (problem == nullptr) continue;
    fail(ErrorKind::invalid_argument, "gradient_sync",
         fmt::format("parameter {} of shape {} {}", i, to_string(parameter.shape()), problem));
  }
}

}  // namespace

void broadcast_parameters(dist::Group& group, const std::vector<Tensor>& parameters) {
  std::vector<dist::Pending> pending;
  for (const Tensor& parameter : parameters) {
    pending.push_back(group.start_broadcast(autograd::detach(parameter)));
  }
  for (dist::Pending& each : pending) each.wait();
}

GradientSync::GradientSync(dist::Group& group, std::vector<Tensor> parameters,
                           std::size_t bucket_bytes)
    : group_(group) {
  require_parameters(parameters);
  if (group.size() == 1) return;
  entries_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) entries_[i].parameter = parameters[i];
  fill_buckets(bucket_bytes);
  for (Entry& entry : entries_) {
    entry.hook = autograd::add_hook(
        entry.parameter, [this, &entry](const Tensor& gradient) -> std::optional<Tensor> {
          if (active_) receive(entry, gradient);
          return std::nullopt;
        });
  }
}

GradientSync::~GradientSync() {
  for (const Entry& entry : entries_) autograd::remove_hook(entry.parameter, entry.hook);
}

// The backward pass reaches the last parameters first. A bucket has one dtype.
void GradientSync::fill_buckets(std::size_t bucket_bytes) {
  struct Open {
    std::vector<std::size_t> members;
    std::size_t bytes = 0;
  };
  std::map<DType, Open> open;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Tensor& parameter = entries_[i].parameter;
    Open& bucket = open[parameter.dtype()];
    bucket.members.push_back(i);
    bucket.bytes += parameter.n_bytes();
    if (bucket.bytes < bucket_bytes) continue;
    add_bucket(std::move(bucket.members));
    bucket = {};
  }
  for (auto& [dtype, bucket] : open) {
    if (!bucket.members.empty()) add_bucket(std::move(bucket.members));
  }
}

void GradientSync::add_bucket(std::vector<std::size_t> members) {
  const MemoryScope name("gradient buckets");
  const Tensor& first = entries_[members[0]].parameter;
  std::int64_t numel = 0;
  for (const std::size_t i : members) numel += padded(entries_[i].parameter);
  Bucket bucket;
  bucket.values = zeros({numel}, first.dtype(), first.device());
  std::int64_t offset = 0;
  for (const std::size_t i : members) {
    Entry& entry = entries_[i];
    entry.bucket = buckets_.size();
    entry.view = bucket.values.slice(0, offset, offset + entry.parameter.numel())
                     .reshape(entry.parameter.shape());
    offset += padded(entry.parameter);
  }
  bucket.members = std::move(members);
  buckets_.push_back(std::move(bucket));
}

void GradientSync::begin() {
  if (active_) {
    fail(ErrorKind::invalid_argument, "gradient_sync", "begin() was called twice without finish()");
  }
  active_ = group_.size() > 1;
  n_started_ = 0;
  for (Entry& entry : entries_) entry.arrived = false;
  for (Bucket& bucket : buckets_) bucket.n_missing = bucket.members.size();
}

// Called by the leaf's hook: `gradient` is that of this backward call; the leaf holds the sum of
// earlier ones.
void GradientSync::receive(Entry& entry, const Tensor& gradient) {
  if (entry.arrived) {
    fail(
        ErrorKind::invalid_argument, "gradient_sync",
        "backward was called twice after begin(); call begin() before the last backward of a step");
  }
  const std::optional<Tensor> before = autograd::gradient_of(entry.parameter);
  entry.view.copy_from(before.has_value() ? *before + gradient : gradient);
  entry.arrived = true;
  --buckets_[entry.bucket].n_missing;
  start_full_buckets();
}

// In list order, so that all ranks start the same collectives in the same order.
void GradientSync::start_full_buckets() {
  for (; n_started_ < buckets_.size() && buckets_[n_started_].n_missing == 0; ++n_started_) {
    Bucket& bucket = buckets_[n_started_];
    bucket.pending = group_.start_all_reduce(bucket.values, dist::Reduction::mean);
  }
}

void GradientSync::finish() {
  if (!active_) return;
  active_ = false;
  for (Entry& entry : entries_) {
    if (entry.arrived) continue;
    const std::optional<Tensor> before = autograd::gradient_of(entry.parameter);
    entry.view.copy_from(before.has_value() ? *before
                                            : full({}, 0, entry.view.dtype(), entry.view.device()));
    --buckets_[entry.bucket].n_missing;
  }
  start_full_buckets();
  for (Bucket& bucket : buckets_) {
    bucket.pending.wait();
    for (const std::size_t i : bucket.members) {
      const Entry& entry = entries_[i];
      if (const auto gradient = autograd::gradient_of(entry.parameter)) {
        gradient->copy_from(entry.view);
      } else {
        autograd::set_gradient(entry.parameter, entry.view.clone());
      }
    }
  }
}

}  // namespace causeway::train
