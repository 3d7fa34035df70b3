// The walk back, where memory that is freed too early would be read.
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/normalize.h"
#include "causeway/autograd/reduce.h"
#include "tests/tensor/devices.h"

#include <malloc.h>

namespace causeway {
namespace {

// Freed memory is overwritten while one of these lives.
class Overwritten {
 public:
  Overwritten() { mallopt(M_PERTURB, 0xa5); }
  ~Overwritten() { mallopt(M_PERTURB, 0); }
};

TEST(Backward, NodesOutliveTheTensorsBetweenThem) {
  const Overwritten memory;
  Generator generator(1);
  Tensor x = generator.normal({4, 8});
  autograd::set_requires_grad(x, true);
  const Tensor ones_like = ones({4, 8});
  const auto chain = [&] {
    // A node with two results, of which one has its turn long before the other.
    const auto [sum, normed] = autograd::add_norm(autograd::NormOp::rms, x, ones_like);
    Tensor branch = autograd::tanh(normed);
    for (int i = 0; i < 5; ++i) branch = autograd::tanh(branch);
    return autograd::sum(autograd::multiply(sum, branch));
  };
  const double first = chain().item();
  autograd::backward(chain());
  const Tensor gradient = autograd::gradient_of(x)->clone();
  autograd::set_gradient(x, std::nullopt);
  // With handles held meanwhile, nothing is freed.
  const auto both = autograd::add_norm(autograd::NormOp::rms, x, ones_like);
  std::vector<Tensor> held = {both.sum, both.normed};
  for (int i = 0; i < 6; ++i) held.push_back(autograd::tanh(held.back()));
  held.push_back(autograd::multiply(both.sum, held.back()));
  held.push_back(autograd::sum(held.back()));
  EXPECT_EQ(held.back().item(), first);
  autograd::backward(held.back());
  expect_same_bytes(gradient, *autograd::gradient_of(x), "gradient");
}

}  // namespace
}  // namespace causeway
