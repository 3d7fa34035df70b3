// Decoders of a tabular transformer: logits from the readout of each row.
#pragma once

#include "causeway/nn/layers.h"

#include <cstdint>
#include <memory>

namespace causeway::models {

// Scores classes by attention over labelled rows: the attention weights of a class's context rows
// are added up, and a logit is the logarithm of the mean over heads. There is no parameter per
// class, so that the number of classes is free.
class RetrievalDecoder : public nn::Module {
 public:
  RetrievalDecoder(std::int64_t width, std::int64_t n_heads, const nn::Placement& placement);

  // Keys of the readouts (tables, rows, width) of context rows, of the same shape.
  Tensor keys(const Tensor& read);
  // Logits (tables, queries, n_classes) of the readouts (tables, queries, width), given keys
  // (tables, rows, width) and labels (tables, rows) f32, of which n_context[table] rows count.
  Tensor logits(const Tensor& read, const Tensor& keys, const Tensor& labels,
                const Tensor& n_context, std::int64_t n_classes);

 private:
  std::int64_t n_heads_;
  std::shared_ptr<nn::Linear> query_;
  std::shared_ptr<nn::Linear> key_;
};

}  // namespace causeway::models
