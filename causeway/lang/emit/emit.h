// IR to standalone CUDA C++ or C++17: no private headers, only the helpers that are used.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <string>
#include <vector>

namespace causeway::lang {

enum class Dialect : std::uint8_t { cuda, cpp };

// How the threads of a CUDA kernel share the elements of a launch.
enum class LaunchForm : std::uint8_t {
  grid_stride,      // a thread takes every n-th element, n being the number of threads
  one_element,      // one thread for each element, in a grid of the launch's dimensions
  vectorized,       // a thread takes four neighbours, with 16-byte loads and stores
  block_reduction,  // grid-stride; blocks combine values in shared memory before an atomic
                    // operation
};
inline constexpr int kLaunchForms = 4;
// Threads of a block in a block_reduction: at most, and a power of two.
inline constexpr int kReductionThreads = 256;

struct EmitOptions {
  Dialect dialect = Dialect::cuda;
  LaunchForm form = LaunchForm::grid_stride;  // CUDA only
  // Passes strides (in elements) with every array; else arrays are row-major.
  bool strided = false;
  // Read-only arrays are const __restrict__: they must not overlap arrays that are written.
  bool restrict_pointers = true;
  // C++ only: the function runs the threads whose first coordinate is in [begin, end), for callers
  // that divide a launch between processor threads.
  bool ranges = false;
  // The name of the function; default: that of the kernel.
  std::string entry = {};
};

// What a parameter of the emitted function is. The emitted function has only those that it uses,
// in the order of the kernel's parameters, the launch dimensions and the tape last.
enum class EmittedKind : std::uint8_t {
  value,          // a scalar, vector, matrix, quaternion or struct, in C layout
  pointer,        // an array's data
  shape,          // int: size of dimension `dim` of the array
  stride,         // int: elements between neighbours along `dim`
  launch_dim,     // int: size of launch dimension `dim`
  range_begin,    // int: first of the first coordinates to run, with EmitOptions::ranges
  range_end,      // int: one past the last of them
  tape,           // unsigned int*: words that the threads of an adjoint kernel save values in
  tape_capacity,  // int: words for each thread
  tape_needed,    // int*: the largest number of words that a thread needed, if above the capacity
};

struct EmittedParam {
  EmittedKind kind = EmittedKind::value;
  std::uint32_t param = 0;  // which parameter of the IR function
  int dim = 0;
  std::string name;
  std::string type;  // in C++: "float", "const vec3*", "int"
};

struct LineEntry {
  int line = 0;  // of the emitted text, from 1
  Span span;     // in the source
};

struct Emitted {
  std::string text;
  std::string entry;  // the name to launch or call
  std::vector<EmittedParam> params;
  std::vector<LineEntry> lines;  // source locations of statements
  bool uses_half = false;        // includes <cuda_fp16.h>
  // Where the kernel begins in the text. Before it are its types and functions, each followed by an
  // empty line.
  std::size_t kernel_begin = 0;
};

// The kernel with the functions and types it uses. CUDA kernels are grid-stride loops for
// one-dimensional launches; C++ functions run all threads in order. Compile with --fmad=false
// (-ffp-contract=off) for the interpreter's bits. Throws Error for operations that the dialect does
// not support.
Emitted emit(const Module& module, int kernel, const EmitOptions& options = {});

// Whether the kernel can have that form. one_element: up to three launch dimensions. vectorized:
// y[i] is a function of elements i of other arrays, all of 4-byte scalars. block_reduction: an
// atomic sum, minimum or maximum on an element that is the same for all threads.
bool has_form(const Module& module, int kernel, LaunchForm form);

}  // namespace causeway::lang
