// Receivers of leaf gradients: they get what would be stored, also from the side stream.
#include "causeway/autograd/step_graph.h"
#include "causeway/core/error.h"
#include "tests/dist/small_model.h"
#include "tests/tensor/devices.h"

namespace causeway::autograd {
namespace {

constexpr std::int64_t kRows = SmallModel::kRows;

void expect_received(Device device) {
  const SmallModel stored(7, device);
  backward(stored.loss(0, kRows));
  const SmallModel model(7, device);
  std::vector<Tensor> received;
  for (const Tensor& parameter : model.parameters) {
    received.push_back(Tensor::empty(parameter.shape(), DType::f32, device));
    set_receiver(parameter,
                 [to = received.back()](const Tensor& gradient) { to.copy_from(gradient); });
  }
  StepGraph step(device, [&](const std::vector<Tensor>&) {
    backward(model.loss(0, kRows));
    return std::vector<Tensor>();
  });
  for (int turn = 0; turn < 3; ++turn) {  // on a GPU: eager, captured and replayed, replayed
    for (const Tensor& each : received) each.copy_from(full({}, 0));
    step({});
    for (std::size_t i = 0; i < received.size(); ++i) {
      expect_same_bytes(received[i], *gradient_of(stored.parameters[i]), std::to_string(i));
      EXPECT_FALSE(gradient_of(model.parameters[i]).has_value());
    }
  }
}

TEST(Receiver, GetsWhatWouldBeStored) { expect_received(Device::cpu()); }

TEST(GpuReceiver, GetsWhatWouldBeStored) {
  CAUSEWAY_REQUIRE_GPU();
  expect_received(Device::cuda());
}

TEST(Receiver, WithoutOneGradientsAreStoredAgain) {
  const SmallModel model;
  int calls = 0;
  set_receiver(model.parameters[0], [&](const Tensor&) { ++calls; });
  backward(model.loss(0, kRows));
  set_receiver(model.parameters[0], nullptr);
  backward(model.loss(0, kRows));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(gradient_of(model.parameters[0]).has_value());
  EXPECT_THROW(set_receiver(ones({2}), nullptr), Error);
}

// After an error in the backward pass nothing more is delivered.
void expect_no_delivery_after_an_error(Device device) {
  const SmallModel model(7, device);
  std::vector<std::size_t> delivered;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    set_receiver(model.parameters[i], [&delivered, i](const Tensor&) {
      delivered.push_back(i);
      if (i == 4) fail(ErrorKind::io, "test", "no such file");
    });
  }
  EXPECT_THROW(backward(model.loss(0, kRows)), Error);
  EXPECT_EQ(delivered.back(), 4u);
}

TEST(Receiver, NothingIsDeliveredAfterAnError) { expect_no_delivery_after_an_error(Device::cpu()); }

TEST(GpuReceiver, NothingIsDeliveredAfterAnError) {
  CAUSEWAY_REQUIRE_GPU();
  expect_no_delivery_after_an_error(Device::cuda());
}

}  // namespace
}  // namespace causeway::autograd
