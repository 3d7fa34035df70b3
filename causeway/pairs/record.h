// One record of the dataset: a program with everything that was derived from it and verified.
#pragma once

#include "causeway/lang/emit/emit.h"
#include "causeway/pairs/program.h"
#include "causeway/pairs/structure.h"
#include "causeway/pairs/twins.h"
#include "causeway/pairs/verify.h"
#include "causeway/runtime/device_code.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

inline constexpr int kSchemaVersion = 3;
// A string that never occurs elsewhere: its presence in a model's output shows that the model was
// trained on this dataset.
extern const char kCanary[];

struct LinePair {
  int python = 0;  // both from 1
  int cuda = 0;
};

// What the forward kernel needs on a GPU.
struct MeasuredResources {
  std::string gpu;  // its name
  KernelResources kernel;
};

// "grid_stride", "one_element", "vectorized", "block_reduction".
std::string_view name_of(lang::LaunchForm form);

// The forward kernel in another form, with the same results.
struct Variant {
  lang::LaunchForm form = lang::LaunchForm::one_element;
  std::string cuda_forward;
  std::string verified;  // "gpu", or "emulation" on a CPU
};

// Times of a launch on a GPU.
struct MeasuredTimes {
  std::string gpu;                // its name
  std::vector<std::int64_t> dim;  // of the launch
  double forward = 0;             // microseconds: of cuda_forward
  std::vector<double> variants;   // and of the variants
};

struct Record {
  Program program;
  std::string cuda_forward;
  std::string cuda_backward;  // empty where nothing has a gradient
  std::string cpp_forward;
  std::string ir;
  std::string ptx;  // where it was asked for
  std::vector<LinePair> lines;
  std::map<std::string, int, std::less<>> ops;         // instructions of the IR by name
  std::map<std::string, int, std::less<>> constructs;  // statements of the Python text
  Structure structure;
  Tolerance tolerance = Tolerance::exact;
  Verification verification;
  std::vector<std::string> verified;                // "run", "adjoint", "compile", "gpu"
  std::optional<MeasuredResources> resources = {};  // where it ran on a GPU
  std::uint64_t candidate = 0;                      // place in the stream of candidates
  std::vector<Variant> variants = {};
  std::optional<MeasuredTimes> times = {};  // where there are variants and a GPU
  std::optional<Twin> twin = {};            // a wrong variant
};

// "0123456789abcdef": of the structure and the seed.
std::string record_id(const Record& record);

// `before`, and after it one line of JSON.
std::string to_json(const Record& record, const std::string& device, std::string before = {});

// A compiled program. Throws lang::CompileError.
struct Compiled {
  lang::Module module;
  int kernel = -1;
  int adjoint = -1;  // -1 where nothing has a gradient

  const lang::Function& function() const {
    return module.functions[static_cast<std::size_t>(kernel)];
  }
};
Compiled compile_program(const Program& program);
// Fills in the forward texts, counts and the tolerance class.
void add_forward_texts(const Compiled& compiled, Record& record);
// Adds the adjoint to the module and fills in its text, if it computes a gradient: results may
// depend on the inputs by comparisons and conversions to integers alone.
void add_backward_text(Compiled& compiled, Record& record);

}  // namespace causeway::pairs
