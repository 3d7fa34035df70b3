// One layer of a tabular transformer: attention between the columns of a row, attention between the
// rows of a column, an MLP.
#pragma once

#include "causeway/nn/layers.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace causeway::models {

// What goes from branch to branch, and what the next branch reads of it: its norm where norms come
// before the branches, else itself.
struct Stream {
  Tensor x;
  Tensor read;
};

// Without a mean it comes before a branch, with one behind.
class TabularNorm : public nn::Module {
 public:
  TabularNorm(std::int64_t width, bool with_mean, const nn::Placement& placement);

  Tensor forward(const Tensor& x) override;
  // The stream with a branch in it.
  Stream take_in(const Tensor& branch, const Tensor& x);

 private:
  Tensor& weight_;
  Tensor* bias_;
};

// Attention with a projection before it, which gives q, k and v of one head after the other, and
// maybe one behind. Tokens are (tables, rows, columns, width).
class TabularAttention : public nn::Module {
 public:
  TabularAttention(std::int64_t width, std::int64_t n_heads, bool projection,
                   const nn::Placement& placement);

  // Row r of all rows sees its first n_columns[r] columns. Tokens may come as the numbers that an
  // encoder (width, numbers) makes them of.
  Tensor among_columns(const Tensor& tokens, const Tensor& n_columns,
                       const Tensor* encoder = nullptr);
  // The same for the target's token alone, (tables, rows, 1, width).
  Tensor target_among_columns(const Tensor& tokens, const Tensor& n_columns);
  // (tables, rows, columns * heads, 3, size) of tokens: q, k and v.
  Tensor split(const Tensor& tokens);
  // (tables, rows, columns * heads, 2, size) of tokens: k and v.
  Tensor keys_and_values(const Tensor& tokens);
  // Rows of what split() made see the first n_known[table] of their own.
  Tensor among_rows(const Tensor& heads, const Tensor& n_known) const;
  // Rows see keys and values of others, that were kept.
  Tensor among_kept(const Tensor& tokens, const Tensor& kept, const Tensor& n_known);
  // The projection behind, where there is one.
  Tensor project(const Tensor& x);

 private:
  // (…, heads * count * size) of tokens: some of q, k and v, from number `first` on.
  Tensor some_of_qkv(const Tensor& tokens, std::int64_t first, std::int64_t count);

  std::int64_t n_heads_;
  std::shared_ptr<nn::Linear> qkv_;
  std::shared_ptr<nn::Linear> projection_;
};

struct TabularLayer : nn::Module {
  TabularLayer(std::int64_t width, std::int64_t n_heads, std::int64_t hidden, bool projection,
               bool pre_norm, const nn::Placement& placement);

  std::shared_ptr<TabularAttention> columns;
  std::shared_ptr<TabularAttention> rows;
  std::shared_ptr<nn::Mlp> mlp;
  std::vector<std::shared_ptr<TabularNorm>> norms;  // one a branch
};

}  // namespace causeway::models
