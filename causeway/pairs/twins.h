// Wrong variants of a program, each with one typical mistake that verification catches: negative
// examples and preference data.
#pragma once

#include "causeway/pairs/program.h"
#include "causeway/pairs/verify.h"

#include <optional>
#include <string>

namespace causeway::pairs {

enum class Bug : std::uint8_t {
  missing_bound_check,  // the early return of surplus threads is gone
  wrong_index,          // an element is read from the next place
  race,                 // an atomic addition became a read, an addition and a write
  off_by_one,           // a loop ends one iteration early
  wrong_identity,       // a reduction starts from the wrong value
};
inline constexpr int kBugs = 5;
std::string_view name_of(Bug bug);

struct Twin {
  Bug bug = Bug::wrong_index;
  std::string python_source;
  std::string cuda_forward;
  std::string diagnosis;  // what is wrong, in a sentence
  std::string caught_by;  // the check that fails, and how
};

// A wrong variant of the verified program; nothing where the program has no place for a mistake, or
// where its results happen to be the same. `hashes` are those of the program's results.
std::optional<Twin> make_twin(const Program& program, const std::vector<std::uint64_t>& hashes);

}  // namespace causeway::pairs
