// Kernels of tests/lang/corpus with their inputs, which a comment before each kernel describes:
//   # run saxpy dim=16 a=2.5 x=u(-1,1)[16] y=z[16]
// Values: a number, u(low,high) floats and i(low,high) integers from a fixed sequence, z zeros,
// v(a,b,…) the scalars of a value; [n,m] the shape of an array. Flags: ulp=N, nograd, nocpp,
// unordered.
#pragma once

#include "causeway/lang/compile.h"
#include "causeway/lang/interpret/interpreter.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace causeway::lang::test {

struct Input {
  std::string name;
  char kind = 'n';  // n number, u, i, z, v
  double low = 0;
  double high = 0;
  std::vector<double> values;
  std::vector<std::int64_t> shape;  // empty for a value
};

struct Run {
  std::string file;
  std::string kernel;
  std::vector<std::int64_t> dims;
  std::vector<Input> inputs;
  int ulp = 0;
  bool gradients = true;
  bool cpp = true;
};

struct CorpusFile {
  std::string name;
  std::string text;
  std::vector<Run> runs;
};

// Memory of all parameters of a kernel, filled from the description.
struct Buffers {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<Argument> arguments;

  // Points the arguments at `bytes`, after a copy.
  void bind(const Module& module, const Function& function);
};

std::vector<CorpusFile> read_corpus(const std::filesystem::path& folder);
std::vector<Run> parse_runs(const std::string& file, const std::string& text);
Buffers make_buffers(const Module& module, const Function& function, const Run& run);

// The scalars of a parameter's memory as doubles, and back.
std::vector<double> as_doubles(const Module& module, TypeId type,
                               const std::vector<std::byte>& bytes);

}  // namespace causeway::lang::test
