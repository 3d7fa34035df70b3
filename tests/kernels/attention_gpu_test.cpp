// Attention on a GPU: every path against the definition in f64, against the other paths, run twice
// for equal bits, and the errors for unsupported calls.
#include "causeway/core/error.h"
#include "tests/kernels/attention_case.h"

#include "causeway/runtime/graph.h"

namespace causeway {
namespace {

using kernels::AttentionMask;
using kernels::AttentionPath;

constexpr DType kHalves[] = {DType::bf16, DType::f16};
const auto kFull = AttentionMask::full;
const auto kCausal = AttentionMask::causal;

std::vector<AttentionCase> short_cases() {
  std::vector<AttentionCase> cases = {
      {4, 3, 20, 20, 32, kFull, {}, Placement::packed},
      {2, 2, 37, 37, 48, kCausal, {}, Placement::packed},
      {3, 3, 20, 20, 32, kFull, {}, Placement::bordered},
      {1, 2, 5, 60, 32, kFull, {}, Placement::contiguous},
      {1, 2, 5, 60, 32, kCausal, {}, Placement::contiguous},
      {1, 2, 60, 5, 32, kFull, {}, Placement::contiguous},
      {1, 1, 30, 18, 16, kCausal, {}, Placement::contiguous},
      {3, 2, 20, 20, 32, kFull, {0, 11, 20}, Placement::contiguous},
      {3, 2, 40, 40, 64, kCausal, {0, 17, 50}, Placement::bordered},
      {100, 5, 20, 20, 32, kFull, {}, Placement::contiguous},
      // Few rows.
      {50, 4, 6, 6, 24, kFull, {}, Placement::packed},
      {5, 2, 6, 6, 24, kFull, {0, 3, 6, 9, 1}, Placement::packed},
      {3, 6, 8, 5, 32, kCausal, {}, Placement::contiguous},
      {3, 4, 3, 8, 64, kCausal, {2, 8, 0}, Placement::bordered},
  };
  for (std::int64_t length : {1, 7, 9, 15, 16, 17, 24, 25, 31, 32, 33, 41, 48, 51, 63, 64}) {
    for (std::int64_t head_size : {8, 16, 24, 32, 40, 64}) {
      const AttentionMask mask = (length + head_size) % 16 == 7 ? kCausal : kFull;
      const std::int64_t n_heads = length < 8 ? 2 + head_size / 8 % 2 : 3;
      cases.push_back({2, n_heads, length, length, head_size, mask, {}, Placement::contiguous});
    }
  }
  return cases;
}

std::vector<AttentionCase> long_cases() {
  std::vector<AttentionCase> cases = {
      {2, 2, 70, 70, 32, kFull, {}, Placement::packed},
      {1, 2, 140, 140, 80, kCausal, {}, Placement::packed},
      {1, 2, 66, 66, 48, kFull, {}, Placement::bordered},
      {1, 2, 150, 150, 24, kCausal, {}, Placement::odd},
      {1, 2, 90, 90, 56, kFull, {}, Placement::odd},
      {2, 2, 5, 300, 32, kFull, {}, Placement::contiguous},
      {2, 2, 5, 300, 32, kCausal, {}, Placement::contiguous},
      {1, 2, 130, 70, 32, kCausal, {}, Placement::contiguous},
      {1, 2, 300, 5, 16, kFull, {}, Placement::contiguous},
      {3, 2, 70, 140, 32, kFull, {0, 64, 139}, Placement::contiguous},
      {3, 2, 100, 100, 64, kFull, {0, 11, 100}, Placement::bordered},
      {3, 2, 150, 150, 128, kCausal, {0, 50, 500}, Placement::contiguous},
      {2, 2, 40, 120, 112, kFull, {120, 33}, Placement::contiguous},
      {40, 5, 128, 128, 32, kFull, {}, Placement::contiguous},
      {4, 2, 300, 300, 24, kFull, {0, 97, 128, 290}, Placement::packed},
      {2, 2, 200, 200, 24, kCausal, {70, 200}, Placement::bordered},
      // Scores that are larger, reversed, or all equal.
      {3, 2, 150, 150, 24, kFull, {7, 70, 130}, Placement::packed, 3},
      {2, 2, 100, 100, 32, kFull, {60, 99}, Placement::contiguous, 3},
      {2, 2, 150, 150, 32, kCausal, {}, Placement::packed, -1},
      {2, 2, 90, 140, 64, kCausal, {50, 140}, Placement::contiguous, 0},
      // Several tiles of queries and keys.
      {2, 3, 256, 256, 64, kFull, {171, 256}, Placement::packed},
      {4, 2, 200, 200, 40, kFull, {0, 64, 65, 300}, Placement::packed},
      {2, 2, 260, 520, 64, kCausal, {}, Placement::contiguous},
      {2, 2, 330, 190, 32, kCausal, {190, 100}, Placement::contiguous},
      {1, 2, 400, 5, 64, kFull, {}, Placement::contiguous},
      {1, 2, 5, 400, 56, kCausal, {}, Placement::contiguous},
      {2, 2, 193, 255, 48, kFull, {128, 129}, Placement::bordered},
      {2, 2, 150, 150, 32, kFull, {60, 149}, Placement::contiguous, 3},
      {2, 2, 150, 150, 64, kCausal, {}, Placement::packed, -1},
      {2, 2, 190, 240, 64, kCausal, {50, 240}, Placement::contiguous, 0},
      {2, 2, 200, 200, 64, kFull, {130, 200}, Placement::odd},
      {1, 2, 193, 255, 48, kCausal, {}, Placement::odd},
      {1, 1, 1030, 1030, 8, kCausal, {}, Placement::contiguous},
      {1, 1, 1030, 1030, 64, kFull, {777}, Placement::contiguous},
  };
  const std::int64_t head_sizes[] = {8, 16, 24, 32, 64, 72, 96, 128};
  std::size_t at = 0;
  for (std::int64_t length : {1, 31, 64, 65, 100, 127, 128, 129, 257}) {
    for (AttentionMask mask : {kFull, kCausal}) {
      for (int i = 0; i < 3; ++i) {
        cases.push_back(
            {1, 2, length, length, head_sizes[at++ % 8], mask, {}, Placement::contiguous});
      }
    }
  }
  return cases;
}

bool is_hopper() {
  const DeviceInfo info = describe(kGpu);
  return info.capability_major == 9 && info.capability_minor == 0;
}

void check_path(const AttentionCase& c, DType dtype, AttentionPath path) {
  const AttentionInputs inputs = draw_inputs(c, dtype);
  const std::string what = fmt::format("{} {} {}", to_string(path), c.name(), to_string(dtype));
  const AttentionResults got = run_attention(c, inputs, kGpu, path);
  expect_results(got, reference_attention(c, inputs), dtype, what);
  expect_same_results(run_attention(c, inputs, kGpu, path), got, what + ", again");
}

TEST(GpuAttention, SmallAgreesWithTheDefinition) {
  CAUSEWAY_REQUIRE_GPU();
  for (const AttentionCase& c : short_cases()) {
    for (DType dtype : kHalves) check_path(c, dtype, AttentionPath::small);
  }
}

TEST(GpuAttention, FlashAgreesWithTheDefinition) {
  CAUSEWAY_REQUIRE_GPU();
  for (const AttentionCase& c : long_cases()) {
    for (DType dtype : kHalves) check_path(c, dtype, AttentionPath::flash);
  }
}

TEST(GpuAttention, HopperAgreesWithTheDefinition) {
  CAUSEWAY_REQUIRE_GPU();
  if (!is_hopper()) GTEST_SKIP() << "needs compute capability 9.0";
  for (const AttentionCase& c : long_cases()) {
    if (c.head_size > 64 || c.placement == Placement::odd) continue;
    for (DType dtype : kHalves) check_path(c, dtype, AttentionPath::hopper);
  }
}

// Enough sequences for the gradient that takes one block per sequence.
TEST(GpuAttention, HopperWholeGradientsAgreeWithTheDefinition) {
  CAUSEWAY_REQUIRE_GPU();
  if (!is_hopper()) GTEST_SKIP() << "needs compute capability 9.0";
  for (const AttentionCase& c : std::vector<AttentionCase>{
           {8, 32, 129, 129, 64, kFull, {0, 1, 16, 63, 64, 65, 128, 129}, Placement::packed},
           {4, 33, 192, 192, 32, kFull, {64, 100, 150, 300}, Placement::contiguous},
           {4, 40, 144, 200, 40, kFull, {192, 193, 0, 200}, Placement::bordered},
           // More keys than a block holds: several passes over the queries.
           {2, 64, 130, 320, 48, kFull, {257, 320}, Placement::contiguous},
           {1, 150, 150, 5, 64, kFull, {}, Placement::contiguous},
           {1, 128, 130, 130, 64, kFull, {}, Placement::packed, -1},
       }) {
    for (DType dtype : kHalves) check_path(c, dtype, AttentionPath::hopper);
  }
}

TEST(GpuAttention, FlashInF32AndF64) {
  CAUSEWAY_REQUIRE_GPU();
  for (const AttentionCase& c : long_cases()) {
    for (DType dtype : {DType::f32, DType::f64}) check_path(c, dtype, AttentionPath::flash);
  }
  const AttentionCase odd_head{2, 2, 40, 40, 13, kCausal, {}, Placement::contiguous};
  for (DType dtype : {DType::f32, DType::f64}) check_path(odd_head, dtype, AttentionPath::flash);
}

// Why cuDNN is not available; empty if it is.
std::string cudnn_absence() {
  const AttentionCase c{1, 1, 64, 64, 64, kFull, {}, Placement::contiguous};
  try {
    run_attention(c, draw_inputs(c, DType::bf16), kGpu, AttentionPath::cudnn);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GpuAttention, CudnnAgreesWithTheDefinition) {
  CAUSEWAY_REQUIRE_GPU();
  if (const std::string why = cudnn_absence(); !why.empty()) GTEST_SKIP() << why;
  for (const AttentionCase& c : std::vector<AttentionCase>{
           {2, 3, 128, 128, 64, kFull, {}, Placement::contiguous},
           {2, 3, 128, 128, 64, kCausal, {}, Placement::contiguous},
           {1, 2, 200, 200, 128, kCausal, {}, Placement::contiguous},
           {2, 2, 100, 100, 32, kFull, {}, Placement::contiguous},
           {2, 2, 64, 192, 64, kFull, {}, Placement::contiguous},
           {2, 2, 128, 128, 64, kCausal, {}, Placement::packed},
       }) {
    for (DType dtype : kHalves) check_path(c, dtype, AttentionPath::cudnn);
  }
}

// One path's gradients for another path's forward pass.
TEST(GpuAttention, PathsShareTheirStatistics) {
  CAUSEWAY_REQUIRE_GPU();
  const AttentionCase c{2, 3, 64, 64, 64, kCausal, {}, Placement::contiguous};
  std::vector<AttentionPath> paths = {AttentionPath::small, AttentionPath::flash};
  if (cudnn_absence().empty()) paths.push_back(AttentionPath::cudnn);
  if (is_hopper()) paths.push_back(AttentionPath::hopper);
  for (DType dtype : kHalves) {
    const AttentionInputs inputs = draw_inputs(c, dtype);
    const AttentionResults want = reference_attention(c, inputs);
    for (AttentionPath forward : paths) {
      for (AttentionPath backward : paths) {
        expect_results(run_attention(c, inputs, kGpu, forward, backward), want, dtype,
                       fmt::format("{} then {}", to_string(forward), to_string(backward)));
      }
    }
  }
}

TEST(GpuAttention, AutomaticPathMatchesReference) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (std::int64_t length : {3, 50, 200, 600}) {
      const AttentionCase c{2, 2, length, length, 64, kCausal, {}, Placement::packed};
      const AttentionInputs inputs = draw_inputs(c, dtype);
      expect_results(run_attention(c, inputs, kGpu), reference_attention(c, inputs), dtype,
                     fmt::format("automatic {} {}", c.name(), to_string(dtype)));
    }
  }
}

TEST(GpuAttention, MaskedKeysDoNotMatter) {
  CAUSEWAY_REQUIRE_GPU();
  for (const auto& [path, length] :
       {std::pair(AttentionPath::small, 50), std::pair(AttentionPath::flash, 100),
        std::pair(AttentionPath::flash, 300), std::pair(AttentionPath::hopper, 300)}) {
    if (path == AttentionPath::hopper && !is_hopper()) continue;
    const AttentionCase c{
        2, 2, length, length, 32, kFull, {0, length / 2 + 3}, Placement::contiguous};
    const AttentionInputs clean = draw_inputs(c, DType::bf16);
    AttentionInputs dirty = clean;
    dirty.k = clean.k.clone();
    dirty.v = clean.v.clone();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Tensor& x : {dirty.k, dirty.v}) {
      const Tensor unseen = x.slice(0, 1).slice(2, length / 2 + 3);
      unseen.copy_from(full(unseen.shape(), nan, DType::bf16));
    }
    expect_same_results(run_attention(c, dirty, kGpu, path), run_attention(c, clean, kGpu, path),
                        fmt::format("{} beyond the context", to_string(path)));
  }
}

// Keys past the context have scores of 0, which would dominate the softmax here.
TEST(GpuAttention, ScoresFarBelowZero) {
  CAUSEWAY_REQUIRE_GPU();
  struct Far {
    AttentionPath path;
    std::int64_t length;
    std::int64_t head_size;
  };
  for (const auto& [path, length, head_size] : std::vector<Far>{{AttentionPath::small, 50, 24},
                                                                {AttentionPath::flash, 100, 24},
                                                                {AttentionPath::flash, 150, 24},
                                                                {AttentionPath::flash, 200, 64},
                                                                {AttentionPath::hopper, 200, 32},
                                                                {AttentionPath::hopper, 200, 64}}) {
    if (path == AttentionPath::hopper && !is_hopper()) continue;
    const AttentionCase c{3,         2,     length,          length,
                          head_size, kFull, {7, 33, length}, Placement::contiguous};
    AttentionInputs inputs = draw_inputs(c, DType::f64);
    inputs.q = inputs.q * 0.1 + 8.0;
    inputs.k = inputs.k * 0.1 - 8.0;
    for (Tensor* x : {&inputs.q, &inputs.k, &inputs.v, &inputs.gradient}) *x = x->to(DType::bf16);
    const AttentionResults got = run_attention(c, inputs, kGpu, path);
    const AttentionResults want = reference_attention(c, inputs);
    const double epsilon = epsilon_of(DType::bf16);
    expect_near(got.out, want.out, epsilon, "out");
    expect_near(got.v_gradient, want.v_gradient, epsilon, "gradient of v");
    for (const Tensor& x : {got.q_gradient, got.k_gradient}) {
      for (double value : x.to(DType::f64).to_vector<double>()) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TEST(GpuAttention, RunsInAGraph) {
  CAUSEWAY_REQUIRE_GPU();
  for (std::int64_t length : {20, 200, 600}) {
    const AttentionCase c{1, 2, length, length, 64, kCausal, {}, Placement::contiguous};
    const AttentionInputs inputs = draw_inputs(c, DType::bf16);
    const Tensor q = inputs.q.to(kGpu);
    const Tensor k = inputs.k.to(kGpu);
    const Tensor v = inputs.v.to(kGpu);
    const Tensor gradient = inputs.gradient.to(kGpu);
    const Tensor out = full(q.shape(), 9, DType::bf16, kGpu);
    const Tensor log_sum = full({1, 2, length}, 9, DType::f32, kGpu);
    const Tensor dq = full(q.shape(), 9, DType::bf16, kGpu);
    const Tensor dk = full(q.shape(), 9, DType::bf16, kGpu);
    const Tensor dv = full(q.shape(), 9, DType::bf16, kGpu);
    kernels::Attention how;
    how.mask = c.mask;
    how.scale = c.scale();
    const Stream stream(kGpu);
    synchronize(kGpu);
    const auto of = [&](const Tensor& x) { return operand(x, stream); };
    const Graph graph = Graph::capture(stream, [&] {
      kernels::attention(stream, how, of(q), of(k), of(v), {}, of(out), of(log_sum));
      kernels::attention_gradient(stream, how, of(q), of(k), of(v), {}, of(out), of(log_sum),
                                  of(gradient), of(dq), of(dk), of(dv));
    });
    for (int i = 0; i < 2; ++i) graph.replay(stream);
    stream.view().synchronize();
    const auto kept = [](const Tensor& x) { return x.to(Device::cpu()); };
    expect_results({kept(out), kept(log_sum), kept(dq), kept(dk), kept(dv)},
                   reference_attention(c, inputs), DType::bf16, fmt::format("{} rows", length));
  }
}

TEST(GpuAttention, UnsupportedCallsGiveReasons) {
  CAUSEWAY_REQUIRE_GPU();
  const auto refusal = [](const AttentionCase& c, DType dtype, AttentionPath path) {
    try {
      run_attention(c, draw_inputs(c, dtype), kGpu, path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const AttentionCase odd{2, 4, 100, 100, 20, kFull, {}, Placement::contiguous};
  const std::string automatic = refusal(odd, DType::f16, AttentionPath::automatic);
  EXPECT_NE(automatic.find("[attention] no path supports q (2, 4, 100, 20) f16"), std::string::npos)
      << automatic;
  EXPECT_NE(automatic.find("small: supports at most 64 rows, got 100"), std::string::npos)
      << automatic;
  EXPECT_NE(automatic.find("flash: needs a head size that is a multiple of 8, got 20"),
            std::string::npos)
      << automatic;
  EXPECT_NE(automatic.find("cudnn: "), std::string::npos) << automatic;
  const AttentionCase unaligned{1, 1, 20, 20, 32, kFull, {}, Placement::odd};
  EXPECT_NE(refusal(unaligned, DType::bf16, AttentionPath::small).find("16 bytes"),
            std::string::npos);
  const AttentionCase limited{1, 1, 600, 600, 64, kFull, {300}, Placement::contiguous};
  EXPECT_NE(refusal(limited, DType::bf16, AttentionPath::cudnn).find("cudnn: "), std::string::npos);
  const AttentionCase wide{1, 1, 20, 20, 136, kFull, {}, Placement::contiguous};
  EXPECT_NE(refusal(wide, DType::f32, AttentionPath::flash).find("head sizes up to 128"),
            std::string::npos);
  EXPECT_NE(refusal(limited, DType::f32, AttentionPath::hopper).find("bf16 and f16 only"),
            std::string::npos);
}

}  // namespace
}  // namespace causeway
