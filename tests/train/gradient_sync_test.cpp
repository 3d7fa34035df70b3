// Averaged gradients of ranks that are threads; tests/dist/ranks_test.py has processes.
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/train/gradient_sync.h"
#include "tests/dist/small_model.h"
#include "tests/dist/thread_ranks.h"
#include "tests/tensor/devices.h"

#include <mutex>
#include <thread>

namespace causeway::train {
namespace {

using dist::run_ranks;
constexpr std::int64_t kRows = SmallModel::kRows;

BucketOptions buckets_of(std::size_t bytes) {
  BucketOptions options;
  options.bytes = bytes;
  return options;
}

std::vector<Tensor> whole_batch_gradients() {
  const SmallModel model;
  autograd::backward(model.loss(0, kRows));
  return model.gradients();
}

// Every rank's gradients, gathered while the ranks run.
class Gathered {
 public:
  void add(std::vector<Tensor> gradients) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(gradients));
  }
  void expect(const std::vector<Tensor>& want) const {
    for (const auto& gradients : all_) {
      for (std::size_t i = 0; i < want.size(); ++i) {
        const std::string name = "parameter " + std::to_string(i);
        expect_close(gradients[i], want[i], name, 4);
        expect_same_bytes(gradients[i], all_[0][i], name);
      }
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Tensor>> all_;
};

TEST(GradientSync, PartsOfABatchGiveTheGradientsOfTheWhole) {
  const auto want = whole_batch_gradients();
  for (const int size : {1, 2, 3}) {
    for (const std::size_t bucket_bytes : {1u, 200u, 1u << 20}) {
      Gathered gathered;
      run_ranks(size, [&](dist::Group& group) {
        const SmallModel model;
        GradientSync sync(group, model.parameters, buckets_of(bucket_bytes));
        const std::int64_t rows = kRows / size;
        for (int turn = 0; turn < 2; ++turn) {  // also a second time, with the same buckets
          for (const Tensor& parameter : model.parameters) autograd::set_gradient(parameter, {});
          sync.backward(model.loss(group.rank() * rows, (group.rank() + 1) * rows));
        }
        const std::size_t n_buckets = bucket_bytes == 1 ? 6 : bucket_bytes == 200 ? 4 : 1;
        EXPECT_EQ(sync.layouts().size(), size > 1 ? n_buckets : 0);
        gathered.add(model.gradients());
      });
      gathered.expect(want);
    }
  }
}

TEST(GradientSync, BucketsAreSentDuringTheBackwardPass) {
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters, buckets_of(1));
    std::vector<std::size_t> started;
    for (const Tensor& parameter : model.parameters) {
      autograd::add_hook(parameter, [&](const Tensor&) -> std::optional<Tensor> {
        started.push_back(sync.n_started());
        return std::nullopt;
      });
    }
    sync.backward(model.loss(0, kRows));
    // A layer's weight comes before its bias, whose bucket is the first of the two.
    EXPECT_EQ(started, std::vector<std::size_t>({0, 0, 2, 2, 4, 4}));
    EXPECT_EQ(sync.n_started(), 6u);
  });
}

TEST(GradientSync, MicroBatchesAreSummed) {
  const auto want = whole_batch_gradients();
  Gathered gathered;
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters, buckets_of(1000));
    const std::int64_t first = group.rank() * kRows / 2;
    const auto half_loss = [&](std::int64_t begin, std::int64_t end) {
      return autograd::multiply(model.loss(begin, end), 0.5);
    };
    sync.backward(half_loss(first, first + kRows / 4), false);
    EXPECT_EQ(sync.n_started(), 0u);
    sync.backward(half_loss(first + kRows / 4, first + kRows / 2));
    gathered.add(model.gradients());
  });
  gathered.expect(want);
}

TEST(GradientSync, ParametersThatOneRankDoesNotUseCountAsZero) {
  run_ranks(2, [&](dist::Group& group) {
    std::vector<Tensor> parameters{full({3}, 2.0), full({3}, 5.0), full({3}, 7.0)};
    for (Tensor& parameter : parameters) autograd::set_requires_grad(parameter, true);
    GradientSync sync(group, parameters, buckets_of(1));
    // Rank 0 uses the first two, rank 1 the last two: their buckets are full in different orders.
    const auto r = static_cast<std::size_t>(group.rank());
    const Tensor product = autograd::multiply(parameters[r], parameters[r + 1]);
    sync.backward(autograd::sum(product));
    expect_same_bytes(*autograd::gradient_of(parameters[0]), full({3}, 2.5), "0");
    expect_same_bytes(*autograd::gradient_of(parameters[1]), full({3}, 4.5), "1");
    expect_same_bytes(*autograd::gradient_of(parameters[2]), full({3}, 2.5), "2");
  });
}

// bf16 gradients are summed in f32: 1 + 2^-9 + 2^-9 is not representable step by step in bf16.
TEST(GradientSync, SumsBf16InF32) {
  run_ranks(3, [&](dist::Group& group) {
    std::vector<Tensor> parameters;
    for (const DType dtype : {DType::f32, DType::bf16}) {
      parameters.push_back(full({5}, 1.0, dtype));
      autograd::set_requires_grad(parameters.back(), true);
    }
    GradientSync sync(group, parameters, {}, true);
    EXPECT_EQ(sync.layouts().size(), 2u);
    const double factor = group.rank() == 0 ? 1.0 : 1.0 / 512;
    Tensor loss = full({}, 0);
    for (const Tensor& parameter : parameters) {
      loss = autograd::add(
          loss, autograd::to(autograd::sum(autograd::multiply(parameter, factor)), DType::f32));
    }
    sync.backward(loss);
    if (group.rank() != 0) return;  // which owns all of such small buckets
    for (std::size_t b = 0; b < sync.layouts().size(); ++b) {
      const Tensor got = sync.gradient(b, sync.layouts()[b].pieces[0]);
      expect_same_bytes(got, full({5}, (1 + 2.0 / 512) / 3), std::to_string(b));
    }
  });
}

TEST(GradientSync, TheDefaultHasSeveralBuckets) {
  run_ranks(2, [&](dist::Group& group) {
    std::vector<Tensor> parameters;
    for (int i = 0; i < 16; ++i) {
      parameters.push_back(zeros({128, 128}));
      autograd::set_requires_grad(parameters.back(), true);
    }
    EXPECT_EQ(GradientSync(group, parameters).layouts().size(), 8u);
  });
}

// An error in the backward pass of every rank: the next step works.
TEST(GradientSync, AnErrorInTheBackwardPassLeavesNothingBehind) {
  const auto want = whole_batch_gradients();
  Gathered gathered;
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters, buckets_of(1));
    const std::uint64_t hook =
        autograd::add_hook(model.parameters[2], [](const Tensor&) -> std::optional<Tensor> {
          fail(ErrorKind::io, "test", "no such file");
        });
    EXPECT_THROW(sync.backward(model.loss(0, kRows)), Error);
    EXPECT_EQ(sync.n_started(), 2u);
    autograd::remove_hook(model.parameters[2], hook);
    sync.backward(model.loss(group.rank() * kRows / 2, (group.rank() + 1) * kRows / 2));
    gathered.add(model.gradients());
  });
  gathered.expect(want);
}

TEST(GradientSync, RemovesItsReceivers) {
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    { const GradientSync sync(group, model.parameters); }
    for (const Tensor& parameter : model.parameters) EXPECT_FALSE(parameter.record()->receiver);
  });
}

TEST(GradientSync, BroadcastParameters) {
  const SmallModel of_rank_0(0);
  run_ranks(3, [&](dist::Group& group) {
    const SmallModel model(static_cast<std::uint64_t>(group.rank()));
    broadcast_parameters(group, model.parameters);
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      expect_same_bytes(model.parameters[i], of_rank_0.parameters[i], std::to_string(i));
    }
  });
}

TEST(GradientSync, BadArguments) {
  dist::Group group;
  Tensor leaf = ones({2});
  EXPECT_THROW(GradientSync(group, {leaf}), Error);
  autograd::set_requires_grad(leaf, true);
  EXPECT_THROW(GradientSync(group, {leaf, leaf}), Error);
  EXPECT_THROW(GradientSync(group, {autograd::multiply(leaf, 2.0)}), Error);
  run_ranks(2, [&](dist::Group& two) {
    const SmallModel model;
    const GradientSync sync(two, model.parameters);
    EXPECT_THROW(autograd::backward(model.loss(0, kRows)), Error);
    Tensor wide = ones({2}, DType::f64);
    autograd::set_requires_grad(wide, true);
    EXPECT_THROW(GradientSync(two, {wide}), Error);
  });
}

}  // namespace
}  // namespace causeway::train
