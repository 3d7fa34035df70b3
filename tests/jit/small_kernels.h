// What the tests of launches share: kernels from a few lines, and what a launch is refused with.
#pragma once

#include "causeway/jit/kernel.h"
#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace causeway::test {

using jit::Argument;
using jit::Kernel;

#define REQUIRE_GPU() \
  if (cuda_device_count() == 0) GTEST_SKIP() << cuda_absence()

// A kernel k of parameters and body; the body's lines are not indented.
inline Kernel kernel(const std::string& parameters, const std::string& body) {
  std::string lines;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    lines += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return jit::make_kernel("k.py", "@wp.kernel\ndef k(" + parameters + "):\n" + lines, "k");
}

inline const char* const kTwoArrays = "x: wp.array(dtype=float), y: wp.array(dtype=float)";

inline std::string refusal(const Kernel& k, std::vector<std::int64_t> dims,
                           const std::vector<Argument>& arguments,
                           jit::LaunchOptions options = {}) {
  try {
    k.launch(dims, arguments, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline Tensor numbers(std::int64_t n, Device device = Device::cpu()) {
  return Generator(7).normal({n}, 0, 1, DType::f32, device);
}

}  // namespace causeway::test
