// One layer of a tabular transformer: attention between the columns of a row, attention between the
// rows of a column, an MLP.
#pragma once

#include "causeway/nn/layers.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace causeway::models {

struct TabularConfig;

// The residual stream, and what the next branch reads: its norm with pre_norm, else the same.
struct Residual {
  Tensor x;
  Tensor read;
};

// RMS norm (pre_norm), or layer norm if `with_mean`.
class TabularNorm : public nn::Module {
 public:
  TabularNorm(std::int64_t width, bool with_mean, const nn::Placement& placement);

  Tensor forward(const Tensor& x) override;
  // Adds a branch to the residual stream and normalises.
  Residual add_residual(const Tensor& branch, const Tensor& x);

 private:
  Tensor& weight_;
  Tensor* bias_;
};

// The scale of queries, per head: slope * log(number of keys) + offset. Initially 1.
class QueryScale : public nn::Module {
 public:
  QueryScale(std::int64_t n_heads, const nn::Placement& placement);

  // Scales the queries of `packed` (tables, rows, columns * heads, parts, size), which are part 0,
  // in place: `packed` must have no other use. n_keys is (tables,) i64.
  Tensor apply(const Tensor& packed, const Tensor& n_keys) const;

 private:
  Tensor& slope_;
  Tensor& offset_;
};

// Multi-head attention: a projection to q, k and v per head, and an optional projection after it.
// Tokens are (tables, rows, columns, width); a column may be several features.
class TabularAttention : public nn::Module {
 public:
  TabularAttention(const TabularConfig& config, bool scaled, const nn::Placement& placement);

  // Attention between columns, of row r to its first n_columns[r]. With `encoder` (width, inputs),
  // `tokens` are the encoder's inputs.
  Tensor among_columns(const Tensor& tokens, const Tensor& n_columns,
                       const Tensor* encoder = nullptr);
  // The same with the target's token as the only query, (tables, rows, 1, width).
  Tensor target_among_columns(const Tensor& tokens, const Tensor& n_columns);
  // q, k and v of tokens for attention between rows to n_context[table] keys, (tables, rows,
  // columns * heads, 3, size).
  Tensor project_qkv(const Tensor& tokens, const Tensor& n_context);
  // k and v of tokens, (tables, rows, columns * heads, 2, size).
  Tensor keys_and_values(const Tensor& tokens);
  // Attention between rows, given project_qkv(), to the first n_context[table] rows.
  Tensor among_rows(const Tensor& heads, const Tensor& n_context) const;
  // Attention of query rows to the cached keys and values of context rows.
  Tensor among_context(const Tensor& tokens, const Tensor& kept, const Tensor& n_context);
  // The projection after attention, if there is one.
  Tensor project(const Tensor& x);

 private:
  // `count` of q, k and v from the `first` on, (…, heads * count * size).
  Tensor project_part(const Tensor& tokens, std::int64_t first, std::int64_t count);

  std::int64_t n_heads_;
  std::shared_ptr<nn::Linear> qkv_;
  std::shared_ptr<nn::Linear> projection_;
  std::shared_ptr<QueryScale> scale_;  // if scaled
};

struct TabularLayer : nn::Module {
  TabularLayer(const TabularConfig& config, const nn::Placement& placement);

  std::shared_ptr<TabularAttention> columns;
  std::shared_ptr<TabularAttention> rows;
  std::shared_ptr<nn::Mlp> mlp;
  std::vector<std::shared_ptr<TabularNorm>> norms;  // one per branch
};

}  // namespace causeway::models
