// Averages gradients over ranks during the backward pass. Gradients are summed in f32 buckets; the
// reduction of a bucket starts as soon as the bucket is full and overlaps with the rest of the
// pass.
//
//   GradientSync sync(group, model.parameters());
//   sync.backward(loss);           // every rank now has bit-identical gradients
//   optimizer.step();
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/dist/group.h"
#include "causeway/train/gradient_buckets.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace causeway::train {

// Broadcasts the values of rank 0 to all ranks.
void broadcast_parameters(dist::Group& group, const std::vector<Tensor>& parameters);

class GradientSync {
 public:
  // `parameters` are distinct f32 or 16-bit leaves on one device that require gradients, in the
  // same order on every rank. The group must outlive this. `shard`: each rank receives only its own
  // part of every bucket.
  GradientSync(dist::Group& group, std::vector<Tensor> parameters, BucketOptions options = {},
               bool shard = false);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // Runs the backward pass of a step, or of one of several micro-batches, of which only the `last`
  // is reduced. Then every parameter's gradient is the mean over the ranks of the sums over
  // micro-batches; if sharded, only gradient(bucket, piece) of own pieces is. A parameter that this
  // rank's loss does not depend on counts as zero. After an error the next call begins a new step.
  void backward(const Tensor& loss, bool last = true);

  const std::vector<BucketLayout>& layouts() const { return layouts_; }
  // The reduced gradient of a piece: a flat view of the bucket, valid until the next backward().
  Tensor gradient(std::size_t bucket, const BucketPiece& piece) const;

  std::size_t n_started() const { return n_started_; }  // buckets sent in this step

 private:
  struct Bucket {
    Tensor values;  // flat f32
    std::size_t n_missing = 0;
    dist::Pending pending;
  };
  struct Place {
    std::size_t bucket = 0;
    std::size_t piece = 0;
  };
  struct Entry {
    Tensor parameter;
    std::vector<Place> places;
    bool arrived = false;  // in this pass
    bool summed = false;   // in an earlier pass of the step
  };

  void begin_pass();
  void receive(Entry& entry, const Tensor& gradient);
  void fill_missing();
  void start_full_buckets();
  void finish();
  void reset();

  dist::Group& group_;
  bool shard_ = false;
  std::vector<BucketLayout> layouts_;
  std::vector<Entry> entries_;
  std::vector<Bucket> buckets_;
  std::size_t n_started_ = 0;
  bool in_step_ = false;
  bool last_ = false;
};

}  // namespace causeway::train
