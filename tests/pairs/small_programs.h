// Generated programs for tests of backends.
#pragma once

#include "causeway/pairs/backend.h"
#include "causeway/pairs/generate.h"

#include <deque>

namespace causeway::pairs {

// Programs of all categories and levels that give finite results, with their launches.
class SmallPrograms {
 public:
  explicit SmallPrograms(int count) {
    for (std::uint64_t seed = 0; static_cast<int>(tasks_.size()) < count; ++seed) {
      const auto category = static_cast<Category>(seed % kCategories);
      const Program& program = programs_.emplace_back(
          generate(category, 1 + static_cast<int>(seed / kCategories % kLevels), 500 + seed));
      const Compiled& compiled = compiled_.emplace_back(compile_program(program));
      BackendTask task{&compiled, tolerance_of(compiled.module, compiled.function()), {}};
      for (InputSet& set : input_sets(program)) task.launches.push_back({&program, std::move(set)});
      if (runs(task)) tasks_.push_back(std::move(task));
    }
  }

  const std::vector<BackendTask>& tasks() const { return tasks_; }
  const std::string& source(std::size_t i) const {
    return tasks_[i].launches.front().program->source;
  }

 private:
  static bool runs(const BackendTask& task) {
    Verification verification;
    for (const Launch& launch : task.launches) {
      run_program(*launch.program, launch.set, task.module(), task.compiled->kernel, verification);
      if (verification.rejection != Rejection::none) return false;
    }
    return true;
  }

  std::deque<Program> programs_;
  std::deque<Compiled> compiled_;
  std::vector<BackendTask> tasks_;
};

}  // namespace causeway::pairs
