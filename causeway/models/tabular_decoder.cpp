#include "causeway/models/tabular_decoder.h"

#include "causeway/autograd/attention.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"

#include <algorithm>
#include <vector>

namespace causeway::models {

using nn::Linear;

namespace {

// The smallest probability, so that a class without weight has a finite logit.
constexpr double kFloor = 1e-5;

// Classes `first` to `first + count` of labels (tables, rows), one-hot: (tables, rows, count).
Tensor one_hot(const Tensor& labels, std::int64_t first, std::int64_t count, DType dtype) {
  const Tensor classes = arange(first, first + count, 1, DType::f32, labels.device());
  const Tensor column = labels.reshape({labels.size(0), labels.size(1), 1});
  return compare(CompareOp::equal, column, classes).to(dtype);
}

}  // namespace

RetrievalDecoder::RetrievalDecoder(std::int64_t width, std::int64_t n_heads,
                                   const nn::Placement& placement)
    : n_heads_(n_heads),
      query_(std::make_shared<Linear>(width, width, true, placement)),
      key_(std::make_shared<Linear>(width, width, true, placement)) {
  add_module("query", query_);
  add_module("key", key_);
}

Tensor RetrievalDecoder::keys(const Tensor& read) { return key_->forward(read); }

Tensor RetrievalDecoder::logits(const Tensor& read, const Tensor& keys, const Tensor& labels,
                                const Tensor& n_context, std::int64_t n_classes) {
  const std::int64_t size = read.size(2) / n_heads_;
  const auto by_head = [&](const Tensor& x) {
    return autograd::transpose(autograd::reshape(x, {x.size(0), x.size(1), n_heads_, size}), 1, 2);
  };
  const Tensor q = by_head(query_->forward(read));
  const Tensor k = by_head(keys);
  autograd::AttentionOptions options;
  options.context = n_context;
  // The values of attention are one-hot labels, as many classes at a time as a head has elements.
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < n_classes; first += size) {
    const Tensor values = one_hot(labels, first, size, read.dtype())
                              .reshape({keys.size(0), 1, keys.size(1), size})
                              .expand(k.shape())
                              .contiguous();
    parts.push_back(autograd::mean(autograd::attention(q, k, values, options), {1}));
  }
  const Tensor weights = parts.size() == 1 ? parts.front() : autograd::concatenate(parts, 2);
  const Tensor shares = autograd::contiguous(autograd::slice(weights, 2, 0, n_classes));
  return autograd::unary(UnaryOp::log, autograd::binary(BinaryOp::add, shares, Scalar(kFloor)));
}

}  // namespace causeway::models
