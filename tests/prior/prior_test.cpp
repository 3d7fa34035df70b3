// Priors: the bytes of datasets, held by golden hashes, on every device and in any batch.
#include "causeway/prior/prior.h"

#include "causeway/core/error.h"
#include "causeway/runtime/threads.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace causeway::prior {
namespace {

constexpr int kCount = 64;
const Device kGpu = Device::cuda(0);

PriorConfig config_of(const std::string& family) {
  PriorConfig config;
  config.family = family;
  config.rows = {100, 100};
  config.features = {1, 12};
  config.classes = {2, 5};
  config.regression = family == "simple";
  config.seed = 11;
  if (family == "simple") config.features = {4, 4};
  return config;
}

std::vector<std::uint64_t> hashes_of(const Batch& batch) {
  const Batch here = batch.to(Device::cpu());
  std::vector<std::uint64_t> hashes;
  for (std::int64_t k = 0; k < batch.count; ++k) hashes.push_back(hash_dataset(here, k));
  return hashes;
}

std::uint64_t hash_of_family(const std::string& family, Device device) {
  return hash_all(hashes_of(Prior(config_of(family), device).batch(0, kCount)));
}

// Of 64 datasets each. A change of these is a change of every dataset that was ever made.
const std::map<std::string, std::uint64_t>& golden() {
  static const std::map<std::string, std::uint64_t> hashes = {{"simple", 0x1654fa2d19e0eb29ull},
                                                              {"mlp", 0x5d1187e18b3f047dull},
                                                              {"tree", 0x012b45a5524e2865ull},
                                                              {"graph", 0x1ea3ffce4ec2e474ull},
                                                              {"mix", 0xbdb83c25a7bee064ull}};
  return hashes;
}

TEST(Prior, GoldenHashes) {
  for (const auto& [family, hash] : golden()) {
    EXPECT_EQ(fmt::format("{:016x}", hash_of_family(family, Device::cpu())),
              fmt::format("{:016x}", hash))
        << family;
  }
}

TEST(GpuPrior, GoldenHashes) {
  CAUSEWAY_REQUIRE_GPU();
  for (const auto& [family, hash] : golden()) {
    EXPECT_EQ(fmt::format("{:016x}", hash_of_family(family, kGpu)), fmt::format("{:016x}", hash))
        << family;
  }
}

// Sizes, targets and gaps that the golden ones leave out.
std::vector<PriorConfig> more_configs() {
  std::vector<PriorConfig> configs;
  PriorConfig wide = config_of("graph");
  wide.rows = {1024, 1024};
  wide.features = {1, 100};
  wide.classes = {2, 10};
  configs.push_back(wide);
  PriorConfig numbers = config_of("graph");
  numbers.regression = true;
  numbers.graph_noise = true;
  configs.push_back(numbers);
  PriorConfig gaps = config_of("mix");
  gaps.rows = {40, 300, true};
  gaps.missing_low = 0.05;
  gaps.missing_high = 0.4;
  gaps.filter_trivial = true;
  configs.push_back(gaps);
  PriorConfig even = config_of("mlp");
  even.balanced = true;
  configs.push_back(even);
  PriorConfig odd = config_of("simple");
  odd.rows = {77, 77};
  odd.features = {7, 7};
  configs.push_back(odd);
  PriorConfig faulty = config_of("graph");
  faulty.reference_choices = faulty.reference_warps = faulty.reference_categories = true;
  configs.push_back(faulty);
  return configs;
}

// More than a GPU begins at once, and so the costliest first.
TEST(GpuPrior, ManyAtOnce) {
  CAUSEWAY_REQUIRE_GPU();
  for (const char* family : {"graph", "mix"}) {
    PriorConfig config = config_of(family);
    config.rows = {40, 40};
    config.features = {1, 6};
    config.classes = {2, 3};
    const Batch here = Prior(config).batch(0, 1500);
    const Batch there = Prior(config, kGpu).batch(0, 1500);
    EXPECT_EQ(hashes_of(here), hashes_of(there)) << family;
    for (std::size_t k = 0; k < 1500; ++k) {
      EXPECT_EQ(here.facts()[k].rejected, there.facts()[k].rejected);
    }
  }
}

TEST(GpuPrior, SameBytesAsTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  for (const PriorConfig& config : more_configs()) {
    for (const Layout layout : {Layout::padded, Layout::packed}) {
      const Batch here = Prior(config).batch(5, 48, layout);
      const Batch there = Prior(config, kGpu).batch(5, 48, layout);
      EXPECT_EQ(hashes_of(here), hashes_of(there)) << config.to_json();
      EXPECT_EQ(here.x.to_vector<float>().size(),
                there.x.to(Device::cpu()).to_vector<float>().size());
      for (std::size_t k = 0; k < 48; ++k) {
        EXPECT_EQ(here.facts()[k].n_attempts, there.facts()[k].n_attempts);
        EXPECT_EQ(here.facts()[k].bayes_error, there.facts()[k].bayes_error);
      }
    }
  }
}

TEST(Prior, DatasetsDoNotDependOnTheirBatch) {
  for (const PriorConfig& config : more_configs()) {
    if (config.rows.high > 500) continue;
    const Prior prior(config);
    const std::vector<std::uint64_t> all = hashes_of(prior.batch(5, 12));
    EXPECT_EQ(hashes_of(prior.batch(5, 12, Layout::packed)), all);
    const int before = thread_count();
    set_thread_count(1);
    for (std::uint64_t k = 0; k < 12; k += 5) {
      EXPECT_EQ(hashes_of(prior.batch(5 + k, 1)).front(), all[k]);
    }
    set_thread_count(before);
  }
}

TEST(Prior, RefusesWhatCannotBe) {
  const auto message = [](const PriorConfig& config) {
    try {
      const Prior prior(config);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  PriorConfig config = config_of("graph");
  config.features = {0, 4};
  EXPECT_EQ(message(config), "[prior] features 0:4: expected 1 to 256, the lower end first");
  config = config_of("graph");
  config.classes = {2, 101};
  EXPECT_EQ(message(config), "[prior] classes 2:101: expected 2 to 64, the lower end first");
  config = config_of("graph");
  config.rows = {4, 4};
  EXPECT_EQ(message(config), "[prior] classes 2:5: more than the 4 rows of a dataset");
  config = config_of("grph");
  EXPECT_EQ(message(config),
            "[prior] no family is called \"grph\"; there are simple, mlp, tree, graph, mix");
}

TEST(Prior, ConfigurationsComeBackFromJson) {
  for (const PriorConfig& config : more_configs()) {
    EXPECT_EQ(PriorConfig::from_json(config.to_json()).to_json(), config.to_json());
  }
  EXPECT_THROW(PriorConfig::from_json("{\"family\": 3}"), Error);
}

}  // namespace
}  // namespace causeway::prior
