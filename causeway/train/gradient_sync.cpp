#include "causeway/train/gradient_sync.h"

#include "causeway/core/error.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <set>
#include <utility>

#include <fmt/format.h>

namespace causeway::train {

namespace {

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
    else if (parameter.dtype() == DType::f64)
      problem = "is f64, but gradients are summed in f32";
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
                           BucketOptions options, bool shard)
    : group_(group), shard_(shard) {
  require_parameters(parameters);
  if (group.size() == 1) return;
  options.n_ranks = group.size();
  layouts_ = plan_buckets(parameters, options);
  entries_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) entries_[i].parameter = parameters[i];
  const MemoryScope name("gradient buckets");
  for (std::size_t b = 0; b < layouts_.size(); ++b) {
    const BucketLayout& layout = layouts_[b];
    const std::int64_t numel = layout.part * group.size();
    buckets_.push_back({zeros({numel}, DType::f32, parameters[0].device()), 0, {}});
    for (std::size_t p = 0; p < layout.pieces.size(); ++p) {
      entries_[layout.pieces[p].parameter].places.push_back({b, p});
    }
  }
  for (Entry& entry : entries_) {
    autograd::set_receiver(entry.parameter,
                           [this, &entry](const Tensor& gradient) { receive(entry, gradient); });
  }
}

GradientSync::~GradientSync() {
  for (const Entry& entry : entries_) autograd::set_receiver(entry.parameter, nullptr);
}

Tensor GradientSync::gradient(std::size_t bucket, const BucketPiece& piece) const {
  return buckets_[bucket].values.slice(0, piece.offset, piece.offset + piece.count);
}

void GradientSync::backward(const Tensor& loss, bool last) {
  if (entries_.empty()) return autograd::backward(loss);
  last_ = last;
  begin_pass();
  try {
    autograd::backward(loss);
    if (last) finish();
  } catch (...) {
    reset();
    throw;
  }
}

void GradientSync::begin_pass() {
  const bool first = !std::exchange(in_step_, true);
  if (first) n_started_ = 0;
  for (Entry& entry : entries_) {
    entry.summed = !first && (entry.summed || entry.arrived);
    entry.arrived = false;
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].n_missing = layouts_[b].pieces.size();
  }
}

// Called in the backward pass.
void GradientSync::receive(Entry& entry, const Tensor& gradient) {
  if (!in_step_ || entry.arrived) {
    fail(ErrorKind::invalid_argument, "gradient_sync",
         "the gradients of these parameters are averaged over ranks; call backward() of their "
         "GradientSync instead of autograd's");
  }
  const Tensor flat = gradient.contiguous().flatten();
  for (const Place& place : entry.places) {
    const BucketPiece& piece = layouts_[place.bucket].pieces[place.piece];
    const Tensor own = flat.slice(0, piece.begin, piece.begin + piece.count);
    const Tensor sum = this->gradient(place.bucket, piece);
    sum.copy_from(entry.summed ? sum + own.to(DType::f32) : own);
    --buckets_[place.bucket].n_missing;
  }
  entry.arrived = true;
  if (last_) start_full_buckets();
}

// In list order, so that all ranks start the same collectives in the same order.
void GradientSync::start_full_buckets() {
  for (; n_started_ < buckets_.size() && buckets_[n_started_].n_missing == 0; ++n_started_) {
    Bucket& bucket = buckets_[n_started_];
    bucket.pending = shard_ ? group_.start_reduce_scatter(bucket.values, dist::Reduction::mean)
                            : group_.start_all_reduce(bucket.values, dist::Reduction::mean);
  }
}

void GradientSync::fill_missing() {
  for (const Entry& entry : entries_) {
    if (entry.arrived) continue;
    for (const Place& place : entry.places) {
      const Tensor values = gradient(place.bucket, layouts_[place.bucket].pieces[place.piece]);
      if (!entry.summed) values.copy_from(full({}, 0, DType::f32, values.device()));
      --buckets_[place.bucket].n_missing;
    }
  }
}

void GradientSync::finish() {
  fill_missing();
  start_full_buckets();
  in_step_ = false;
  for (Bucket& bucket : buckets_) bucket.pending.wait();
  if (shard_) return;
  for (const Entry& entry : entries_) {
    if (entry.places.empty()) continue;  // no elements
    const Tensor& parameter = entry.parameter;
    const Place& first = entry.places.front();
    // The pieces of a parameter are adjacent.
    BucketPiece all = layouts_[first.bucket].pieces[first.piece];
    all.count = parameter.numel();
    const Tensor values = gradient(first.bucket, all).reshape(parameter.shape());
    autograd::set_gradient(parameter, values.to(parameter.dtype()));
  }
}

// Waits for what was sent, since the buckets are filled again. Errors are those of the group, which
// the next call gets.
void GradientSync::reset() {
  in_step_ = false;
  for (Bucket& bucket : buckets_) {
    try {
      std::exchange(bucket.pending, {}).wait();
    } catch (const Error&) {
    }
  }
}

}  // namespace causeway::train
