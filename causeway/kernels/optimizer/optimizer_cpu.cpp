// Optimizer steps on the CPU: tensors are divided into pieces, one per thread at a time. Bytes: the
// parameter, its gradient and states read once, all except the gradient written once; bound by
// memory.
#include "causeway/kernels/optimizer/optimizer.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/optimizer/visit_optimizer.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kPiece = 32768;  // elements

struct Piece {
  const OptimizerTensor* tensor;
  std::int64_t begin;
  std::int64_t end;
};

std::vector<Piece> pieces_of(const OptimizerTensors& tensors) {
  std::vector<Piece> pieces;
  for (const OptimizerTensor& tensor : tensors.list) {
    for (std::int64_t begin = 0; begin < tensor.count; begin += kPiece) {
      pieces.push_back({&tensor, begin, std::min(begin + kPiece, tensor.count)});
    }
  }
  return pieces;
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T, bool kMaster, class Update>
void step_piece(const Piece& piece, const Update& update, const optimizers::Step<Wide<T>>& step,
                Wide<T> scale) {
  using W = Wide<T>;
  auto* parameter = static_cast<T*>(piece.tensor->parameter);
  const auto* gradient = static_cast<const T*>(piece.tensor->gradient);
  auto* first = static_cast<W*>(piece.tensor->state[0]);
  auto* second = static_cast<W*>(piece.tensor->state[1]);
  auto* master = static_cast<W*>(piece.tensor->master);
#pragma omp simd
  for (std::int64_t i = piece.begin; i < piece.end; ++i) {
    optimizers::Element<W> e{};
    e.parameter = kMaster ? master[i] : static_cast<W>(static_cast<Compute<T>>(parameter[i]));
    e.gradient = static_cast<W>(static_cast<Compute<T>>(gradient[i])) * scale;
    if constexpr (Update::kStates > 0) e.state[0] = first[i];
    if constexpr (Update::kStates > 1) e.state[1] = second[i];
    update(e, step);
    parameter[i] = static_cast<T>(static_cast<Compute<T>>(e.parameter));
    if constexpr (kMaster) master[i] = e.parameter;
    if constexpr (Update::kStates > 0) first[i] = e.state[0];
    if constexpr (Update::kStates > 1) second[i] = e.state[1];
  }
}

}  // namespace

void begin_optimizer_step(StreamView, const Operand& control, std::int64_t growth_interval) {
  begin_step(static_cast<float*>(control.data), growth_interval);
}

void gradient_squares(StreamView, const OptimizerTensors& tensors, const Operand& out) {
  const std::vector<Piece> pieces = pieces_of(tensors);
  std::vector<double> partial(pieces.size());
  dispatch_floating(tensors.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(static_cast<std::int64_t>(pieces.size()), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t at = begin; at < end; ++at) {
                     const Piece& piece = pieces[static_cast<std::size_t>(at)];
                     const auto* gradient = static_cast<const T*>(piece.tensor->gradient);
                     // Eight lanes: the order is fixed and the loop vectorises.
                     double lanes[8] = {};
                     for (std::int64_t i = piece.begin; i < piece.end; ++i) {
                       const auto value = static_cast<double>(static_cast<Compute<T>>(gradient[i]));
                       lanes[(i - piece.begin) % 8] += value * value;
                     }
                     double sum = 0;
                     for (double lane : lanes) sum += lane;
                     partial[static_cast<std::size_t>(at)] = sum;
                   }
                 });
  });
  double squares = 0;
  for (double sum : partial) squares += sum;
  *static_cast<double*>(out.data) = squares;
}

void gradient_norm(StreamView, const Operand& squares, double max_norm, const Operand& control) {
  apply_norm(static_cast<const double*>(squares.data), numel(squares.shape), max_norm,
             static_cast<float*>(control.data));
}

void optimizer_step(StreamView, const OptimizerSettings& settings, const OptimizerTensors& tensors,
                    const Operand& control) {
  const auto* numbers = static_cast<const float*>(control.data);
  if (control_value(numbers, Control::skip) != 0.0f) return;
  const std::vector<Piece> pieces = pieces_of(tensors);
  dispatch_floating(tensors.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const StepSettings<W> how = step_settings<W>(settings);
    const auto scale = static_cast<W>(control_value(numbers, Control::gradient_scale));
    visit(settings.op, [&](auto update) {
      parallel_for(static_cast<std::int64_t>(pieces.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t at = begin; at < end; ++at) {
                       const Piece& piece = pieces[static_cast<std::size_t>(at)];
                       const auto step = step_of(how, numbers, piece.tensor->missed);
                       if (piece.tensor->master != nullptr) {
                         step_piece<T, true>(piece, update, step, scale);
                       } else {
                         step_piece<T, false>(piece, update, step, scale);
                       }
                     }
                   });
    });
  });
}

}  // namespace causeway::kernels::cpu
