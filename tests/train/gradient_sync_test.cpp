// Averaged gradients of ranks that are threads; tests/dist/ranks_test.py has processes.
#include "causeway/core/error.h"
#include "causeway/dist/socket.h"
#include "causeway/train/gradient_sync.h"
#include "tests/dist/small_model.h"
#include "tests/tensor/devices.h"

#include <mutex>
#include <thread>

namespace causeway::train {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t kRows = SmallModel::kRows;

void run_ranks(int size, const std::function<void(dist::Group&)>& body) {
  const int port = dist::Socket::listen(0).port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      dist::Launch launch;
      launch.rank = rank;
      launch.size = size;
      launch.address = "127.0.0.1";
      launch.port = port;
      try {
        dist::Group group(launch, {10s, 10s});
        body(group);
      } catch (const Error& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
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
        GradientSync sync(group, model.parameters, bucket_bytes);
        const std::int64_t rows = kRows / size;
        for (int turn = 0; turn < 2; ++turn) {  // also a second time, with the same buckets
          for (const Tensor& parameter : model.parameters) autograd::set_gradient(parameter, {});
          sync.begin();
          autograd::backward(model.loss(group.rank() * rows, (group.rank() + 1) * rows));
          sync.finish();
        }
        const std::size_t n_buckets = bucket_bytes == 1 ? 6 : bucket_bytes == 200 ? 4 : 1;
        EXPECT_EQ(sync.n_buckets(), size > 1 ? n_buckets : 0);
        gathered.add(model.gradients());
      });
      gathered.expect(want);
    }
  }
}

TEST(GradientSync, BucketsAreSentDuringTheBackwardPass) {
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters, 1);
    std::vector<std::size_t> started;
    for (const Tensor& parameter : model.parameters) {
      autograd::add_hook(parameter, [&](const Tensor&) -> std::optional<Tensor> {
        started.push_back(sync.n_started());
        return std::nullopt;
      });
    }
    sync.begin();
    autograd::backward(model.loss(0, kRows));
    // A layer's weight comes before its bias, whose bucket is the first of the two.
    EXPECT_EQ(started, std::vector<std::size_t>({0, 2, 2, 4, 4, 6}));
    sync.finish();
  });
}

TEST(GradientSync, AccumulatedGradientsAreIncluded) {
  const auto want = whole_batch_gradients();
  Gathered gathered;
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters, 1000);
    const std::int64_t first = group.rank() * kRows / 2;
    const auto half_loss = [&](std::int64_t begin, std::int64_t end) {
      return autograd::multiply(model.loss(begin, end), 0.5);
    };
    autograd::backward(half_loss(first, first + kRows / 4));
    sync.begin();
    autograd::backward(half_loss(first + kRows / 4, first + kRows / 2));
    sync.finish();
    gathered.add(model.gradients());
  });
  gathered.expect(want);
}

TEST(GradientSync, ParametersThatOneRankDoesNotUseCountAsZero) {
  run_ranks(2, [&](dist::Group& group) {
    std::vector<Tensor> parameters{full({3}, 2.0), full({3}, 5.0), full({3}, 7.0)};
    for (Tensor& parameter : parameters) autograd::set_requires_grad(parameter, true);
    GradientSync sync(group, parameters, 1);
    // Rank 0 uses the first two, rank 1 the last two: their buckets are full in different orders.
    const auto r = static_cast<std::size_t>(group.rank());
    const Tensor product = autograd::multiply(parameters[r], parameters[r + 1]);
    sync.begin();
    autograd::backward(product, ones({3}));
    sync.finish();
    expect_same_bytes(*autograd::gradient_of(parameters[0]), full({3}, 2.5), "0");
    expect_same_bytes(*autograd::gradient_of(parameters[1]), full({3}, 4.5), "1");
    expect_same_bytes(*autograd::gradient_of(parameters[2]), full({3}, 2.5), "2");
  });
}

TEST(GradientSync, EachDtypeHasItsOwnBuckets) {
  run_ranks(2, [&](dist::Group& group) {
    std::vector<Tensor> parameters;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f32, DType::f64}) {
      parameters.push_back(full({5}, 1.0, dtype));
      autograd::set_requires_grad(parameters.back(), true);
    }
    GradientSync sync(group, parameters);
    EXPECT_EQ(sync.n_buckets(), 3u);
    sync.begin();
    for (const Tensor& parameter : parameters) {
      autograd::backward(autograd::multiply(parameter, 1.0 + 2 * group.rank()),
                         ones({5}, parameter.dtype()));
    }
    sync.finish();
    for (const Tensor& parameter : parameters) {
      expect_same_bytes(*autograd::gradient_of(parameter), full({5}, 2.0, parameter.dtype()), "");
    }
  });
}

TEST(GradientSync, WithoutBeginNothingIsSent) {
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    GradientSync sync(group, model.parameters);
    if (group.rank() == 0) autograd::backward(model.loss(0, kRows));
    sync.finish();
    group.barrier();
  });
}

TEST(GradientSync, RemovesItsHooks) {
  run_ranks(2, [&](dist::Group& group) {
    const SmallModel model;
    { const GradientSync sync(group, model.parameters); }
    for (const Tensor& parameter : model.parameters) EXPECT_TRUE(parameter.record()->hooks.empty());
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
    GradientSync sync(two, model.parameters);
    sync.begin();
    EXPECT_THROW(sync.begin(), Error);
    autograd::backward(model.loss(0, kRows));
    EXPECT_THROW(autograd::backward(model.loss(0, kRows)), Error);
    sync.finish();
  });
}

}  // namespace
}  // namespace causeway::train
