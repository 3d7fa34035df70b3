// The stored inputs of the fuzz targets, and mutations of them, in the ordinary tests.
#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/data/csv.h"
#include "causeway/data/hdf5.h"
#include "causeway/data/npy_header.h"
#include "causeway/data/npz.h"
#include "causeway/data/safetensors.h"
#include "causeway/data/sha256.h"
#include "causeway/data/zip.h"
#include "causeway/dist/rendezvous.h"
#include "causeway/models/gpt_config.h"
#include "causeway/models/tabular.h"
#include "causeway/tokenizer/streaming/streaming.h"
#include "causeway/train/checkpoint_manifest.h"
#include "tests/files.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/require.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define LLVMFuzzerTestOneInput fuzz_zip_once
namespace fuzz_zip {
#include "tests/fuzz/fuzz_zip.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_manifest_once
namespace fuzz_manifest {
#include "tests/fuzz/fuzz_manifest.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_config_once
namespace fuzz_config {
#include "tests/fuzz/fuzz_config.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_toml_once
namespace fuzz_toml {
#include "tests/fuzz/fuzz_toml.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_csv_chunk_once
namespace fuzz_csv_chunk {
#include "tests/fuzz/fuzz_csv_chunk.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_partial_once
namespace fuzz_partial {
#include "tests/fuzz/fuzz_partial.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_hdf5_once
namespace fuzz_hdf5 {
#include "tests/fuzz/fuzz_hdf5.cpp"
}
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_rendezvous_once
namespace fuzz_rendezvous {
#include "tests/fuzz/fuzz_rendezvous.cpp"
}
#undef LLVMFuzzerTestOneInput

namespace {

std::vector<std::string> seeds(const std::string& name) {
  std::vector<std::string> result;
  const auto folder = causeway::test::test_folder() / "fuzz/corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    result.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return result;
}

// Deletes, repeats, flips and truncates; seeded, so that a failure can be repeated.
std::string mutated(std::string text, std::mt19937& random) {
  for (unsigned n = random() % 4 + 1; n > 0 && !text.empty(); --n) {
    const std::size_t at = random() % text.size();
    const std::size_t length = std::min<std::size_t>(random() % 12 + 1, text.size() - at);
    switch (random() % 5) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(at, length)); break;
      case 2: text[at] = static_cast<char>(random()); break;
      case 3: text[at] = static_cast<char>(text[at] ^ (1 << random() % 8)); break;
      default: text.resize(random() % 8 == 0 ? at : text.size()); break;
    }
  }
  return text;
}

template <class Target>
void replay(const std::string& name, Target target, int n_mutations) {
  const std::vector<std::string> all = seeds(name);
  ASSERT_GT(all.size(), 3U);
  const auto run = [&](const std::string& text) {
    target(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  for (const std::string& seed : all) run(seed);
  std::mt19937 random(7);
  for (int i = 0; i < n_mutations; ++i) run(mutated(all[random() % all.size()], random));
}

TEST(FuzzReplay, Zip) { replay("zip", fuzz_zip::fuzz_zip_once, 3000); }
TEST(FuzzReplay, Manifest) { replay("manifest", fuzz_manifest::fuzz_manifest_once, 3000); }
TEST(FuzzReplay, Config) { replay("config", fuzz_config::fuzz_config_once, 3000); }
TEST(FuzzReplay, Toml) { replay("toml", fuzz_toml::fuzz_toml_once, 2000); }
TEST(FuzzReplay, CsvChunk) { replay("csv", fuzz_csv_chunk::fuzz_csv_chunk_once, 3000); }
TEST(FuzzReplay, Partial) { replay("partial", fuzz_partial::fuzz_partial_once, 3000); }
TEST(FuzzReplay, Rendezvous) {  // few, since attacks end by timeouts
  replay("rendezvous", fuzz_rendezvous::fuzz_rendezvous_once, 200);
}
TEST(FuzzReplay, Hdf5) { replay("hdf5", fuzz_hdf5::fuzz_hdf5_once, 500); }

}  // namespace
