// Checkpoints for tests, without tensor operations, so that a forked child can create them too. All
// their values are the step.
#pragma once

#include "causeway/train/checkpoint.h"
#include "tests/data/raw_tensor.h"
#include "tests/data/scratch.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace causeway::train_test {

using data_test::contents;
using data_test::failure;
using data_test::put;
using data_test::says;
using data_test::Scratch;
using train::Checkpoint;
using train::CheckpointFolder;
using train::CheckpointInfo;
using train::CheckpointOptions;

inline Tensor filled(const Shape& shape, float value) {
  Tensor tensor = Tensor::empty(shape);
  std::fill_n(tensor.data_as<float>(), tensor.numel(), value);
  return tensor;
}

inline Checkpoint checkpoint_of(std::int64_t step, std::int64_t size = 4,
                                std::optional<double> score = {}) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.datasets = 64 * step;
  checkpoint.score = score;
  checkpoint.random = R"({"seed":18446744073709551615,"next":[1,2]})";
  checkpoint.configuration = R"({"learning_rate":0.1,"name":"é"})";
  const auto value = static_cast<float>(step);
  checkpoint.tensors["model"] = {{"a", filled({size}, value)}, {"b", filled({2, size}, value)}};
  checkpoint.tensors["optimizer"] = {{"control", filled({3}, value)}};
  return checkpoint;
}

// Whether every value is the step.
inline testing::AssertionResult is_consistent(const Checkpoint& checkpoint) {
  if (checkpoint.datasets != 64 * checkpoint.step || checkpoint.tensors.size() != 2) {
    return testing::AssertionFailure() << "manifest of step " << checkpoint.step;
  }
  for (const auto& [set, tensors] : checkpoint.tensors) {
    for (const auto& [name, tensor] : tensors) {
      for (const float value : tensor.to_vector<float>()) {
        if (value == static_cast<float>(checkpoint.step)) continue;
        return testing::AssertionFailure()
               << set << "/" << name << " of step " << checkpoint.step << " holds " << value;
      }
    }
  }
  return testing::AssertionSuccess();
}

inline std::vector<std::int64_t> steps_in(const CheckpointFolder& folder) {
  std::vector<std::int64_t> steps;
  for (const CheckpointInfo& info : folder.list()) steps.push_back(info.step);
  return steps;
}

// Number of entries of a folder, including temporary ones.
inline std::size_t n_entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Flips one bit of a file.
inline void flip(const std::filesystem::path& path, std::size_t at, int bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int old = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(old ^ (1 << bit)));
  if (!file.flush()) throw std::runtime_error("nothing to flip");
}

// Runs `body` in a process of its own; its exit code, or minus the signal that ended it.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace causeway::train_test
