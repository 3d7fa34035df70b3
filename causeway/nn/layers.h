// Layers. Names and default initialisation follow PyTorch.
#pragma once

#include "causeway/autograd/attention.h"
#include "causeway/autograd/convolution.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/normalize.h"
#include "causeway/nn/module.h"
#include "causeway/tensor/create.h"

namespace causeway::nn {

// Device, dtype and random generator of a layer's parameters.
struct Placement {
  DType dtype = DType::f32;
  Device device = Device::cpu();
  Generator* generator = nullptr;  // default: default_generator()
  bool initialize = true;          // false: weights are not drawn, because they are set later
};

// (..., in) to (..., out).
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true, const Placement& placement = {});
  Tensor forward(const Tensor& x) override;

  Tensor& weight;  // (out, in)
  Tensor* bias;    // (out,), or null
};

// Integers (...) to (..., width).
class Embedding : public Module {
 public:
  Embedding(std::int64_t n_entries, std::int64_t width, const Placement& placement = {});
  Tensor forward(const Tensor& index) override;

  Tensor& weight;  // (n_entries, width)
};

class LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t width, double epsilon = 1e-5, const Placement& placement = {},
                     bool with_weight = true, bool with_bias = true);
  Tensor forward(const Tensor& x) override;
  // The sum of both and its norm, in one pass.
  autograd::AddNorm add(const Tensor& x, const Tensor& residual);

  Tensor* weight;  // null without one
  Tensor* bias;
  std::int64_t width;
  double epsilon;
};

class RmsNorm : public Module {
 public:
  explicit RmsNorm(std::int64_t width, double epsilon = 1e-5, const Placement& placement = {});
  Tensor forward(const Tensor& x) override;
  autograd::AddNorm add(const Tensor& x, const Tensor& residual);

  Tensor& weight;
  double epsilon;
};

// Input (images, channels, ...).
class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, double momentum = 0.1, double epsilon = 1e-5,
                     const Placement& placement = {});
  Tensor forward(const Tensor& x) override;

  Tensor& weight;
  Tensor& bias;
  Tensor& running_mean;
  Tensor& running_variance;
  double momentum;
  double epsilon;
};

class Dropout : public Module {
 public:
  explicit Dropout(double probability = 0.5);
  Tensor forward(const Tensor& x) override;

  double probability;
};

class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::array<std::int64_t, 2> window,
         const autograd::Convolution& how = {}, bool bias = true, const Placement& placement = {});
  Tensor forward(const Tensor& x) override;

  autograd::Convolution how;
  Tensor& weight;  // (out_channels, in_channels / groups, height, width)
  Tensor* bias;
};

class Pool2d : public Module {
 public:
  explicit Pool2d(const autograd::Pooling& how);
  Tensor forward(const Tensor& x) override;

  autograd::Pooling how;
};

// An activation as a layer.
class Unary : public Module {
 public:
  explicit Unary(UnaryOp op);
  Tensor forward(const Tensor& x) override;

  UnaryOp op;
};

// (n, a, b, ...) to (n, a * b * ...): flattens all dimensions after the first.
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x) override;
};

// Two linear layers with a tanh-approximated GELU between them, fused.
class Mlp : public Module {
 public:
  Mlp(std::int64_t width, std::int64_t hidden, bool bias = true, const Placement& placement = {});
  Tensor forward(const Tensor& x) override;

  std::shared_ptr<Linear> in;
  std::shared_ptr<Linear> out;
};

// Self-attention of (batch, length, width) with input and output projections.
class Attention : public Module {
 public:
  Attention(std::int64_t width, std::int64_t n_heads, bool causal = false, bool bias = true,
            const Placement& placement = {});
  Tensor forward(const Tensor& x) override;
  // Batch entry b attends only to its first context[b] rows.
  Tensor forward_context(const Tensor& x, const Tensor& context);

  std::int64_t n_heads;
  bool causal;
  std::shared_ptr<Linear> qkv;
  std::shared_ptr<Linear> projection;
};

}  // namespace causeway::nn
