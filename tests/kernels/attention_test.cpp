// Attention on the CPU: against the definition, against numeric gradients, for every layout.
#include "tests/kernels/attention_case.h"

#include "causeway/runtime/threads.h"

namespace causeway {
namespace {

using kernels::AttentionMask;

std::vector<AttentionCase> lengths_and_heads() {
  std::vector<AttentionCase> cases;
  const std::int64_t head_sizes[] = {8, 16, 24, 32, 64, 96, 128};
  std::size_t at = 0;
  for (std::int64_t length : {1, 7, 31, 32, 33, 64, 65, 100, 128, 257}) {
    for (AttentionMask mask : {AttentionMask::full, AttentionMask::causal}) {
      cases.push_back(
          {2, 3, length, length, head_sizes[at++ % 7], mask, {}, Placement::contiguous});
    }
  }
  return cases;
}

std::vector<AttentionCase> odd_ones() {
  const auto full = AttentionMask::full;
  const auto causal = AttentionMask::causal;
  return {
      {2, 2, 33, 33, 32, full, {}, Placement::packed},
      {2, 2, 65, 65, 16, causal, {}, Placement::packed},
      {2, 2, 20, 20, 32, full, {}, Placement::bordered},
      {1, 2, 70, 70, 24, causal, {}, Placement::odd},
      {1, 2, 5, 300, 32, full, {}, Placement::contiguous},
      {1, 2, 5, 300, 32, causal, {}, Placement::contiguous},
      {1, 2, 130, 70, 32, causal, {}, Placement::contiguous},  // the first 60 queries have no keys
      {3, 2, 40, 40, 16, full, {0, 17, 40}, Placement::contiguous},
      {3, 1, 70, 300, 32, full, {0, 256, 299}, Placement::bordered},
      {3, 2, 30, 30, 32, causal, {0, 11, 50}, Placement::packed},
  };
}

void check_on_cpu(const AttentionCase& c, DType dtype) {
  const AttentionInputs inputs = draw_inputs(c, dtype);
  expect_results(run_attention(c, inputs, Device::cpu()), reference_attention(c, inputs), dtype,
                 fmt::format("{} {}", c.name(), to_string(dtype)));
}

TEST(Attention, LengthsAndHeadSizes) {
  for (const AttentionCase& c : lengths_and_heads()) {
    for (DType dtype : {DType::f64, DType::f32}) check_on_cpu(c, dtype);
  }
}

TEST(Attention, LayoutsMasksAndContexts) {
  for (const AttentionCase& c : odd_ones()) {
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) check_on_cpu(c, dtype);
  }
}

TEST(Attention, MaskedKeysDoNotMatter) {
  const AttentionCase c{2, 2, 40, 300, 16, AttentionMask::full, {0, 170}, Placement::contiguous};
  const AttentionInputs clean = draw_inputs(c, DType::f32);
  AttentionInputs dirty = clean;
  dirty.k = clean.k.clone();
  dirty.v = clean.v.clone();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Tensor& x : {dirty.k, dirty.v}) {
    const Tensor unseen = x.slice(0, 1).slice(2, 170);
    unseen.copy_from(full(unseen.shape(), nan));
  }
  expect_same_results(run_attention(c, dirty, Device::cpu()),
                      run_attention(c, clean, Device::cpu()), "keys beyond the context");
}

TEST(Attention, SameBitsForAnyThreadCount) {
  const int before = thread_count();
  for (AttentionMask mask : {AttentionMask::full, AttentionMask::causal}) {
    const AttentionCase c{1, 3, 200, 520, 32, mask, {}, Placement::contiguous};
    const AttentionInputs inputs = draw_inputs(c, DType::f32);
    set_thread_count(1);
    const AttentionResults one = run_attention(c, inputs, Device::cpu());
    for (int threads : {2, 3, 7}) {
      set_thread_count(threads);
      expect_same_results(run_attention(c, inputs, Device::cpu()), one,
                          fmt::format("{} threads", threads));
    }
  }
  set_thread_count(before);
}

// Finite differences of the forward pass against the gradients.
TEST(Attention, NumericGradient) {
  const AttentionCase c{2, 1, 9, 12, 8, AttentionMask::causal, {12, 7}, Placement::contiguous};
  const AttentionInputs inputs = draw_inputs(c, DType::f64);
  const AttentionResults results = run_attention(c, inputs, Device::cpu());
  const auto weights = inputs.gradient.to_vector<double>();
  const auto loss = [&] {
    const auto out = run_attention(c, inputs, Device::cpu()).out.to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * weights[i];
    return sum;
  };
  const std::pair<Tensor, Tensor> sides[] = {{inputs.q, results.q_gradient},
                                             {inputs.k, results.k_gradient},
                                             {inputs.v, results.v_gradient}};
  for (const auto& [input, gradient] : sides) {
    auto* values = input.data_as<double>();
    const auto slopes = gradient.to_vector<double>();
    for (std::size_t i = 0; i < slopes.size(); i += 7) {
      const double kept = values[i];
      values[i] = kept + 1e-5;
      const double above = loss();
      values[i] = kept - 1e-5;
      const double below = loss();
      values[i] = kept;
      ASSERT_NEAR(slopes[i], (above - below) / 2e-5, 1e-8) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace causeway
