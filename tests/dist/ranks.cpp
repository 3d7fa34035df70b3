// One rank of a run started by ranks_test.py: runs the test named by its first argument on the
// device of the second (cpu) and prints a line, or prints an error and exits with 1.
#include "causeway/core/error.h"
#include "causeway/dist/device_choice.h"
#include "causeway/train/gpt_trainer.h"
#include "causeway/train/gradient_sync.h"
#include "tests/dist/serial.h"
#include "tests/dist/small_model.h"
#include "tests/train/small_pretraining.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace causeway {
namespace {

using dist::Group;

void require(bool truth, const std::string& what) {
  if (!truth) fail(ErrorKind::internal, "ranks", what);
}

void require_same(const Tensor& got, const Tensor& want, const std::string& what) {
  require(got.shape() == want.shape() && hash_of(got) == hash_of(want), what + " differs");
}

// A sum in another order has other bits, which NCCL may choose.
void require_sum(const Tensor& got, const Tensor& want, const std::string& what) {
  if (got.device().is_cpu()) return require_same(got, want, what);
  require(got.shape() == want.shape(), what + " has another shape");
  const auto a = got.to(Device::cpu()).to(DType::f64).to_vector<double>();
  const auto b = want.to(DType::f64).to_vector<double>();
  double scale = 1e-30;
  for (const double value : b) scale = std::max(scale, std::fabs(value));
  const double tolerance = scale * (got.dtype() == DType::bf16 ? 2e-2 : 1e-5);
  for (std::size_t i = 0; i < a.size(); ++i) {
    require(std::fabs(a[i] - b[i]) <= tolerance, fmt::format("{}: number {} differs", what, i));
  }
}

// Every dtype, reduction and size against the serial result, repeatedly.
std::string collectives(Group& group, Device device) {
  std::uint64_t hash = 0;
  for (const DType dtype : dist::kReduced) {
    for (const dist::Reduction how : dist::kAllReductions) {
      if (dtype == DType::i64 && how == dist::Reduction::mean) continue;
      const std::int64_t large = dtype == DType::f32 ? 1000003 : 100003;
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{31}, large}) {
        const Tensor mine = dist::values_of(group.rank(), count, dtype);
        const Tensor want = dist::serial(group.size(), count, dtype, how);
        for (int turn = 0; turn < 3; ++turn) {
          const Tensor x = mine.clone().to(device);
          group.all_reduce(x, how);
          require_sum(x, want, fmt::format("{} of {}", count, to_string(dtype)));
          hash = hash * 31 + hash_of(x.to(Device::cpu()));
        }
      }
    }
  }
  const int last = group.size() - 1;
  const Tensor y = dist::values_of(group.rank(), 1000003, DType::f32).to(device);
  group.broadcast(y, last);
  require_same(y.to(Device::cpu()), dist::values_of(last, 1000003, DType::f32), "broadcast");
  const std::int64_t part = 100'003;
  const Tensor z = dist::values_of(group.rank(), part * group.size(), DType::f32).to(device);
  group.start_reduce_scatter(z).wait();
  group.start_all_gather(z).wait();
  require_sum(z, dist::serial(group.size(), z.numel(), DType::f32, dist::Reduction::sum),
              "reduce_scatter and all_gather");
  hash = hash * 31 + hash_of(z.to(Device::cpu()));
  const auto texts = group.all_gather(std::string(static_cast<std::size_t>(group.rank()), 'x'));
  for (std::size_t r = 0; r < texts.size(); ++r) require(texts[r].size() == r, "gathered text");
  group.barrier();
  return fmt::format("{:x}", hash);
}

// Each rank's part of the batch; the averaged gradients must be those of the whole batch.
std::string gradients(Group& group, Device device) {
  const SmallModel whole;
  autograd::backward(whole.loss(0, SmallModel::kRows));
  const SmallModel model(7, device);
  train::broadcast_parameters(group, model.parameters);
  train::BucketOptions buckets;
  buckets.bytes = 1000;
  train::GradientSync sync(group, model.parameters, buckets);
  const std::int64_t rows = SmallModel::kRows / group.size();
  sync.backward(model.loss(group.rank() * rows, (group.rank() + 1) * rows));
  std::uint64_t hash = 0;
  const auto want = whole.gradients();
  const auto got = model.gradients();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto a = got[i].to(Device::cpu()).to_vector<float>();
    const auto b = want[i].to_vector<float>();
    for (std::size_t j = 0; j < a.size(); ++j) {
      require(std::fabs(a[j] - b[j]) <= 1e-5 + 1e-5 * std::fabs(b[j]),
              fmt::format("gradient {} of parameter {} is {}, expected {}", j, i, a[j], b[j]));
    }
    hash = hash * 31 + hash_of(got[i].to(Device::cpu()));
  }
  return fmt::format("{:x}", hash);
}

train::GptTrainConfig small_gpt(const Group& group, bool muon) {
  train::GptTrainConfig config;
  config.model = models::GptConfig::preset("bytes");
  config.model.length = 32;
  config.model.width = 64;
  config.model.layers = 2;
  config.model.heads = 2;
  config.batch = 4 * group.size();
  config.muon = muon;
  return config;
}

data::TokenData some_tokens() {
  Generator generator(1);
  std::vector<data::TokenId> ids;
  for (const std::int32_t id :
       generator.integers({50'000}, 0, 255, DType::i32).to_vector<std::int32_t>()) {
    ids.push_back(static_cast<data::TokenId>(id));
  }
  return data::TokenData::from(ids);
}

// Losses of sharded GPT training must equal those of one rank with the whole batch.
std::string gpt(Group& group, Device device) {
  std::uint64_t hash = 0;
  for (const bool muon : {false, true}) {
    Group one;
    train::GptTrainer alone(small_gpt(group, muon), some_tokens(), {}, device, one);
    train::GptTrainer trainer(small_gpt(group, muon), some_tokens(), {}, device, group);
    for (int step = 0; step < 5; ++step) {
      alone.advance();
      trainer.advance();
      const double want = alone.progress().loss;
      const double got = trainer.progress().loss;
      require(std::fabs(got - want) <= 1e-4 * want,
              fmt::format("the loss of step {} is {}, expected {}", step, got, want));
    }
    require(trainer.state_bytes() * static_cast<std::size_t>(group.size()) <=
                alone.state_bytes() * 5 / 4,
            "the optimizer state is not sharded");
    for (const auto& [name, tensor] : trainer.model().state()) {
      hash = hash * 31 + hash_of(tensor.to(Device::cpu()));
    }
  }
  return fmt::format("{:x}", hash);
}

// Losses and weights must equal those of one rank with the whole batch.
std::string pretrain(Group& group) {
  train::PretrainConfig config = train_test::small_pretraining();
  config.batch = 12;
  Group one;
  train::Pretrainer alone(config, Device::cpu(), one);
  train::Pretrainer trainer(config, Device::cpu(), group);
  for (int step = 0; step < 8; ++step) {
    alone.advance();
    trainer.advance();
    const double want = alone.progress().loss;
    const double got = trainer.progress().loss;
    require(std::fabs(got - want) <= 1e-5 * want,
            fmt::format("the loss of step {} is {}, expected {}", step, got, want));
  }
  std::uint64_t hash = 0;
  const auto want = alone.model().state();
  for (const auto& [name, tensor] : trainer.model().state()) {
    const auto a = tensor.to_vector<float>();
    const auto b = want.at(name).to_vector<float>();
    const auto share = static_cast<std::size_t>(config.model.width / config.model.heads);
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Key biases shift all scores of a softmax equally: their gradient is pure rounding noise,
      // which AdamW scales up.
      if (name.ends_with("qkv.bias") && i / share % 3 == 1) continue;
      require(std::fabs(a[i] - b[i]) <= 5e-6,
              fmt::format("{}: number {} is {}, expected {}", name, i, a[i], b[i]));
    }
    hash = hash * 31 + hash_of(tensor);
  }
  return fmt::format("{:x}", hash);
}

// Prints that the group is connected, then loses rank 1 through `end`. If `idle`, the ranks only
// call check().
std::string lose_rank_1(Group& group, const std::function<void()>& end, bool idle) {
  group.barrier();
  fmt::print("rank {} is there\n", group.rank());
  std::fflush(stdout);
  const Tensor x = ones({100'000});
  for (int i = 0; i < 100'000; ++i) {
    if (group.rank() == 1 && i == 20) end();
    if (idle && i >= 20) {
      group.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else {
      group.all_reduce(x, dist::Reduction::mean);
    }
  }
  return "survived";
}

// Rank 1 is killed while steps are replayed as graphs (on a GPU).
std::string die_in_training(Group& group, Device device) {
  train::GptTrainer trainer(small_gpt(group, false), some_tokens(), {}, device, group);
  fmt::print("rank {} is there\n", group.rank());
  std::fflush(stdout);
  for (int step = 0; step < 100'000; ++step) {
    if (group.rank() == 1 && step == 8) ::kill(::getpid(), SIGKILL);
    trainer.advance();
    if (step % 4 == 3) trainer.progress();
  }
  return "survived";
}

void stay() {}
void die() { ::kill(::getpid(), SIGKILL); }
void stop() { ::raise(SIGSTOP); }
void hang() { std::this_thread::sleep_for(std::chrono::seconds(60)); }
void throw_error() { fail(ErrorKind::io, "test", "no such file"); }

std::string run(const std::string& what, Group& group, Device device) {
  if (what == "collectives") return collectives(group, device);
  if (what == "gradients") return gradients(group, device);
  if (what == "gpt") return gpt(group, device);
  if (what == "die-in-training") return die_in_training(group, device);
  if (what == "pretrain") return pretrain(group);
  if (what == "die") return lose_rank_1(group, die, false);
  if (what == "die-idle") return lose_rank_1(group, die, true);
  if (what == "stay") return lose_rank_1(group, stay, true);
  if (what == "throw") return lose_rank_1(group, throw_error, false);
  if (what == "stop") return lose_rank_1(group, stop, false);
  if (what == "hang") return lose_rank_1(group, hang, false);
  if (what == "mismatch") {
    group.all_reduce(zeros({4 + group.rank()}));
    return "agreed";
  }
  if (what == "numbers") {
    return fmt::format("{} {} {}", group.rank(), group.size(), group.local_rank());
  }
  fail(ErrorKind::invalid_argument, "ranks", what);
}

}  // namespace
}  // namespace causeway

int main(int argc, char** argv) {
  try {
    causeway::dist::Group group = causeway::dist::Group::from_environment();
    const causeway::Device first = causeway::parse_device(argc > 2 ? argv[2] : "cpu");
    const std::string result =
        causeway::run(argc > 1 ? argv[1] : "", group, causeway::dist::rank_device(first, group));
    fmt::print("rank {}: {}\n", group.rank(), result);
  } catch (const causeway::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}
