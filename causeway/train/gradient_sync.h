// Gradients averaged over ranks while they are computed. The parameters' gradients go into buckets,
// in the order in which the walk back reaches them; a bucket is on its way to the other ranks as
// soon as it is full, beside the rest of the walk.
//
//   GradientSync sync(group, model.parameters());
//   sync.begin();                  // of several backward calls for one step, before the last
//   autograd::backward(loss);
//   sync.finish();                 // every rank now has the same gradients, to the bit
//   optimizer.step();
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/dist/group.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace causeway::train {

// Gives all ranks the values of rank 0.
void share_parameters(dist::Group& group, const std::vector<Tensor>& parameters);

class GradientSync {
 public:
  static constexpr std::size_t kBucketBytes = std::size_t{2} << 20;

  // Tracked leaves of one device, each once, the same ones in the same order on every rank. The
  // group must outlive this.
  GradientSync(dist::Group& group, std::vector<Tensor> parameters,
               std::size_t bucket_bytes = kBucketBytes);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // The next backward is the one whose gradients are sent, together with what earlier ones left.
  void begin();
  // Every parameter's gradient is the mean over the ranks. One that the loss of this rank does not
  // depend on counts as zero.
  void finish();

  std::size_t n_buckets() const { return buckets_.size(); }
  std::size_t n_started() const { return n_started_; }  // buckets sent since begin()

 private:
  struct Bucket {
    Tensor values;                     // flat
    std::vector<std::size_t> members;  // parameters, in the order they lie there
    std::size_t n_missing = 0;
    dist::Pending pending;
  };
  struct Entry {
    Tensor parameter;
    std::size_t bucket = 0;
    Tensor place;  // in the bucket, of the parameter's shape
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
