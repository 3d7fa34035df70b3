// Runs a program and checks what it computes.
#pragma once

#include "causeway/pairs/inputs.h"
#include "causeway/pairs/program.h"

#include <string>
#include <vector>

namespace causeway::pairs {

// How closely backends must agree.
enum class Tolerance : std::uint8_t {
  exact,      // integers and IEEE arithmetic: the same bits, except the sign of zero
  close,      // math functions: a few units in the last place, amplified by what follows
  unordered,  // floating-point atomics: the order of additions is not fixed
};
std::string_view name_of(Tolerance tolerance);
Tolerance tolerance_of(const lang::Module& module, const lang::Function& kernel);

// Why a program is not written. The names are the keys of the counts that a run reports.
enum class Rejection : std::uint8_t {
  none,
  refused,      // the compiler refuses it
  failed,       // a check of the interpreter fails: an index out of range, a division by zero
  not_finite,   // a result is infinite or NaN
  constant,     // the results do not depend on the inputs
  adjoint,      // finite differences disagree with the adjoint
  duplicate,    // the same structure as an earlier program
  similar,      // nearly the same as an earlier program
  compile,      // NVRTC or the C++ compiler refuses the emitted text
  cpp,          // the results of the C++ text differ from the interpreter's
  gpu,          // the results on the GPU differ from the interpreter's
  variant,      // the results of an equivalent variant differ from the interpreter's
  excluded,     // its structure is on the list of those that must not occur
  no_gradient,  // inputs are floating-point, but no result has a gradient; some are written
};
inline constexpr int kRejections = 14;
std::string_view name_of(Rejection rejection);

struct Verification {
  Rejection rejection = Rejection::none;
  std::string detail;
  std::vector<std::uint64_t> hashes;  // of the written arrays, for each input set
  int derivatives = 0;                // that were checked
  double worst_derivative = 0;        // relative error
};

// Interprets the kernel on an input set and adds the hash of its results.
void run_program(const Program& program, const InputSet& set, const lang::Module& module,
                 int kernel, Verification& verification);

// Checks the adjoint against central differences in float64, along one random direction for each
// parameter.
void check_adjoint(const Program& program, const InputSet& set, Verification& verification);

// Hash of the content of the written arrays.
std::uint64_t output_hash(const Program& program, const Memory& memory);

}  // namespace causeway::pairs
