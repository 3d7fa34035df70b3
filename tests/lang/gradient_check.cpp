#include "tests/lang/gradient_check.h"

#include "causeway/lang/adjoint/adjoint.h"

#include <cmath>
#include <cstring>

namespace causeway::lang::test {

namespace {

// The weight of output k in the sum that is differentiated.
double weight(std::size_t k) {
  return 0.5 + 0.37 * static_cast<double>(k % 7) - 0.11 * static_cast<double>(k % 3);
}

bool floats(const Module& module, TypeId type) { return module.types.has_float(type); }

bool is_array(const Module& module, const Param& param) {
  return module.types.is(param.type, TypeKind::array);
}

class Check {
 public:
  Check(const std::string& text, const Run& run) : run_(run) {
    CompileOptions options;
    options.promote_floats = true;
    module_ = compile(run.file, text, options);
    kernel_ = module_.find(run.kernel);
    adjoint_ = add_adjoint(module_, kernel_);
    inputs_ = make_buffers(module_, forward(), run);
  }

  GradientCheck run(int per_parameter) {
    GradientCheck result;
    const std::string wrong =
        verify(module_, module_.functions[static_cast<std::size_t>(adjoint_)]);
    if (!wrong.empty()) {
      result.problem = "adjoint is not valid IR: " + wrong;
      return result;
    }
    const std::vector<std::vector<double>> gradients = backward();
    for (std::size_t i = 0; i < forward().params.size(); ++i) {
      if (!floats(module_, forward().params[i].type) || is_overwritten(static_cast<ValueId>(i)))
        continue;
      const std::size_t n = inputs_.bytes[i].size() / 8;
      const std::size_t step =
          std::max<std::size_t>(1, n / static_cast<std::size_t>(per_parameter));
      for (std::size_t k = 0; k < n; k += step) compare(i, k, gradients[i][k], result);
    }
    return result;
  }

 private:
  const Function& forward() const { return module_.functions[static_cast<std::size_t>(kernel_)]; }

  // Arrays that are stored to and never read: their old content has no influence where they are
  // written, and the adjoint leaves their gradient as it is. Extremes have no gradient of their
  // own.
  bool is_overwritten(ValueId param) const {
    bool stored = false;
    bool read = false;
    for (const Inst& inst : forward().insts) {
      const auto operands = forward().args(inst);
      if (operands.empty() || operands[0] != param) {
        if (inst.op == Op::call) {
          for (const ValueId operand : operands) read = read || operand == param;
        }
        continue;
      }
      stored = stored || inst.op == Op::store || inst.op == Op::atomic_min ||
               inst.op == Op::atomic_max || inst.op == Op::atomic_exch;
      read = read || inst.op == Op::load || inst.op == Op::call;
    }
    return stored && !read;
  }

  double objective(Buffers buffers) {
    buffers.bind(module_, forward());
    if (forward_ == nullptr) forward_ = std::make_unique<Interpreter>(module_, kernel_);
    forward_->launch(run_.dims, buffers.arguments);
    double sum = 0;
    for (std::size_t i = 0; i < forward().params.size(); ++i) {
      const Param& param = forward().params[i];
      if (!is_array(module_, param) || !floats(module_, param.type)) continue;
      const auto* values = reinterpret_cast<const double*>(buffers.bytes[i].data());
      for (std::size_t k = 0; k < buffers.bytes[i].size() / 8; ++k) sum += weight(k) * values[k];
    }
    return sum;
  }

  std::vector<std::vector<double>> backward() {
    const Function& adjoint = module_.functions[static_cast<std::size_t>(adjoint_)];
    Buffers after = inputs_;
    after.bind(module_, forward());
    Interpreter(module_, kernel_).launch(run_.dims, after.arguments);
    Buffers buffers = inputs_;
    const std::size_t n = forward().params.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (adjoint.params[i].content == ArrayContent::after) buffers.bytes[i] = after.bytes[i];
    }
    std::vector<std::size_t> places(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!floats(module_, forward().params[i].type)) continue;
      std::vector<double> gradient(inputs_.bytes[i].size() / 8);
      if (is_array(module_, forward().params[i])) {
        for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] = weight(k);
      }
      places[i] = buffers.bytes.size();
      std::vector<std::byte> bytes(gradient.size() * 8);
      std::memcpy(bytes.data(), gradient.data(), bytes.size());
      buffers.bytes.push_back(std::move(bytes));
      buffers.shapes.push_back(inputs_.shapes[i].empty() ? std::vector<std::int64_t>{1}
                                                         : inputs_.shapes[i]);
    }
    buffers.bind(module_, adjoint);
    Interpreter(module_, adjoint_).launch(run_.dims, buffers.arguments);
    std::vector<std::vector<double>> result(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!floats(module_, forward().params[i].type)) continue;
      const auto& bytes = buffers.bytes[places[i]];
      result[i].resize(bytes.size() / 8);
      std::memcpy(result[i].data(), bytes.data(), bytes.size());
    }
    return result;
  }

  void compare(std::size_t param, std::size_t k, double gradient, GradientCheck& result) {
    constexpr double kStep = 1e-6;
    double values[2];
    for (int side = 0; side < 2; ++side) {
      Buffers moved = inputs_;
      double x = 0;
      std::memcpy(&x, moved.bytes[param].data() + k * 8, 8);
      x += side == 0 ? kStep : -kStep;
      std::memcpy(moved.bytes[param].data() + k * 8, &x, 8);
      values[side] = objective(std::move(moved));
    }
    const double expected = (values[0] - values[1]) / (2 * kStep);
    const double error = std::fabs(expected - gradient) / (1 + std::fabs(expected));
    ++result.n_derivatives;
    result.worst = std::max(result.worst, error);
    if (!(error < 2e-6) && result.problem.empty()) {
      result.problem = "d/d " + std::string(forward().params[param].name) + "[" +
                       std::to_string(k) + "]: adjoint " + std::to_string(gradient) +
                       ", finite difference " + std::to_string(expected);
    }
  }

  const Run& run_;
  Module module_;
  int kernel_ = -1;
  int adjoint_ = -1;
  Buffers inputs_;
  std::unique_ptr<Interpreter> forward_;
};

}  // namespace

GradientCheck check_gradients(const std::string& text, const Run& run, int per_parameter) {
  return Check(text, run).run(per_parameter);
}

}  // namespace causeway::lang::test
