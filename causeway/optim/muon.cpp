#include "causeway/optim/muon.h"

#include "causeway/kernels/optimizer/optimizer.h"
#include "causeway/optim/optimizer.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/reduce.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace causeway::optim {

namespace {

// Coefficients of the quintic: the steepest at 0 whose iterates stay bounded.
constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

Tensor number(const Tensor& control, kernels::Control which) {
  const int at = static_cast<int>(which);
  return control.slice(0, at, at + 1).reshape({});
}

}  // namespace

Tensor orthogonalize(const Tensor& matrices, int iterations, double epsilon) {
  const bool tall = matrices.size(-2) > matrices.size(-1);
  const DType inner = matrices.device().is_cuda() ? DType::bf16 : matrices.dtype();
  // Uses the Gram matrix of the smaller side.
  Tensor x = tall ? matrices.transpose() : matrices;
  const Tensor norm = sqrt(sum(unary(UnaryOp::square, x), {-2, -1}, true));
  x = (x / binary(BinaryOp::maximum, norm, Scalar(epsilon))).to(inner);
  for (int i = 0; i < iterations; ++i) {
    const Tensor gram = matmul(x, x.transpose());
    const Tensor mix = matmul_add(kC, gram, gram, kB, gram);
    x = matmul_add(1, mix, x, kA, x);
  }
  x = x.to(matrices.dtype());
  return tall ? x.transpose() : x;
}

void muon_step(const MuonStep& how, std::span<const Tensor> parameters,
               std::span<const Tensor> gradients, const Tensor& velocity,
               const std::optional<Tensor>& master, const Tensor& control) {
  using kernels::Control;
  const DType wide = velocity.dtype();
  const Tensor skip = compare(CompareOp::not_equal, number(control, Control::skip), Scalar(0.0));
  const Tensor rate = number(control, Control::learning_rate).to(wide) * Scalar(how.rate_factor);
  const Tensor slope =
      stack(gradients).to(wide) * number(control, Control::gradient_scale).to(wide);
  const Tensor moved = velocity + (slope - velocity) * Scalar(1 - how.momentum);
  const Tensor ahead = how.nesterov ? slope + (moved - slope) * Scalar(how.momentum) : moved;
  const Tensor direction = orthogonalize(ahead, how.iterations, how.epsilon);
  const double shape = static_cast<double>(velocity.size(-2)) /
                       static_cast<double>(std::max<std::int64_t>(velocity.size(-1), 1));
  const double stretch = std::sqrt(std::max(1.0, shape));
  const Tensor kept = master.has_value() ? *master : stack(parameters);
  const Tensor decayed = kept - kept * (rate * Scalar(how.weight_decay));
  const Tensor stepped = decayed - direction * (rate * Scalar(stretch));
  // A skipped step writes the old values back.
  velocity.copy_from(where(skip, velocity, moved));
  const Tensor result = where(skip, kept, stepped);
  if (master.has_value()) master->copy_from(result);
  std::int64_t at = 0;
  for (const Tensor& parameter : parameters) parameter.copy_from(result.select(0, at++));
}

std::vector<ParameterGroup> muon_groups(const std::vector<Tensor>& matrices, double factor,
                                        double weight_decay) {
  GroupOptions muon;
  muon.algorithm = Algorithm::muon;
  muon.momentum = 0.95;
  muon.nesterov = true;
  muon.weight_decay = weight_decay;
  std::map<std::int64_t, std::vector<Tensor>> by_length;
  for (const Tensor& matrix : matrices) {
    by_length[std::max(matrix.size(0), matrix.size(1))].push_back(matrix);
  }
  std::vector<ParameterGroup> groups;
  for (const auto& [longer, members] : by_length) {
    muon.rate_factor = factor * std::sqrt(static_cast<double>(longer));
    groups.push_back({members, muon});
  }
  return groups;
}

}  // namespace causeway::optim
