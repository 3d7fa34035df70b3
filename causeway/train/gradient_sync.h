// Averages gradients over ranks during the backward pass. Gradients are copied into buckets in the
// order in which the backward pass computes them; the all-reduce of a bucket starts as soon as the
// bucket is full and overlaps with the rest of the pass.
//
//   GradientSync sync(group, model.parameters());
//   sync.begin();                  // with several backward calls per step: before the last
//   autograd::backward(loss);
//   sync.finish();                 // every rank now has bit-identical gradients
//   optimizer.step();
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/dist/group.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace causeway::train {

// Broadcasts the values of rank 0 to all ranks.
void broadcast_parameters(dist::Group& group, const std::vector<Tensor>& parameters);

class GradientSync {
 public:
  static constexpr std::size_t kBucketBytes = std::size_t{2} << 20;

  // `parameters` are distinct leaves on one device that require gradients, in the same order on
  // every rank. The group must outlive this.
  GradientSync(dist::Group& group, std::vector<Tensor> parameters,
               std::size_t bucket_bytes = kBucketBytes);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // The next backward call sends its gradients, added to those accumulated before.
  void begin();
  // Waits; every parameter's gradient is then the mean over the ranks. A parameter that this rank's
  // loss does not depend on counts as zero.
  void finish();

  std::size_t n_buckets() const { return buckets_.size(); }
  std::size_t n_started() const { return n_started_; }  // buckets sent since begin()

 private:
  struct Bucket {
    Tensor values;                     // flat
    std::vector<std::size_t> members;  // indices of parameters, in memory order
    std::size_t n_missing = 0;
    dist::Pending pending;
  };
  struct Entry {
    Tensor parameter;
    std::size_t bucket = 0;
    Tensor view;  // of the bucket's values, with the parameter's shape
    std::uint64_t hook = 0;
    bool arrived = false;
  };

  void fill_buckets(std::size_t bucket_bytes);
  void add_bucket(std::vector<std::size_t> members);
  void receive(Entry& entry, const Tensor& gradient);
  void start_full_buckets();

  dist::Group& group_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  std::size_t n_started_ = 0;
  bool active_ = false;
};

}  // namespace causeway::train
