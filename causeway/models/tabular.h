// A transformer over tables (Hollmann et al. 2025; nanoTabPFN): attention between the columns of a
// row, then between the rows of a column, where every row sees only those whose target is known. It
// reads a table with known and unknown targets and says the unknown ones, in one pass.
#pragma once

#include "causeway/kernels/tabular.h"
#include "causeway/nn/layers.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::models {

struct TabularConfig {
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t hidden = 384;  // of the MLP
  std::int64_t layers = 4;
  std::int64_t group = 3;        // columns that a feature's token sees
  std::int64_t thinking = 16;    // learned rows that every row sees
  std::int64_t classes = 10;     // the most a table may have; 0: the target is a number
  std::int64_t bins = 64;        // of a number's distribution
  bool pre_norm = true;          // before a branch and without a mean, else behind it and with one
  bool projection = true;        // behind attention
  double residual_decay = 1;     // layer i begins with decay^i of what it is given
  bool class_as_number = false;  // in the input; rows to be told then have the mean
  bool mean_readout = false;     // of the features' tokens, else the target's token

  bool is_regression() const { return classes == 0; }
  std::int64_t outputs() const { return is_regression() ? bins : classes; }
  kernels::TableInputs inputs() const;

  // Throws invalid_argument where it cannot be.
  void check() const;
  // "default", "nanotabpfn" or "speedrun".
  static TabularConfig preset(std::string_view name);
  std::string to_json() const;
  static TabularConfig from_json(std::string_view text);
};

// A batch of tables, padded: see kernels/tabular.h.
struct Tables {
  Tensor x;      // (tables, rows, features) f32
  Tensor y;      // (tables, rows) f32
  Tensor sizes;  // (tables, 3) i64: rows, features, rows that are known
};

// What a model keeps of the known rows, to tell others by.
struct TableContext {
  Tensor sizes;
  Tensor statistics;
  std::vector<Tensor> layers;  // (tables, rows, columns * heads, 3, size) of each layer
};

class TabularTransformer : public nn::Module {
 public:
  explicit TabularTransformer(const TabularConfig& config, const nn::Placement& placement = {});

  const TabularConfig& config() const { return config_; }

  // (tables, rows, outputs): of rows that are known too, where it means nothing.
  Tensor logits(const Tables& tables);
  // The mean cross entropy of the rows to be told.
  Tensor loss(const Tables& tables);

  // All rows of these tables are known.
  TableContext remember(const Tables& known);
  // The logits of rows (tables, rows, features) whose targets are not.
  Tensor tell(const TableContext& context, const Tensor& x);

  // Of a numeric target, standardised by the known rows: where its bins meet, and their centres.
  const Tensor* borders() const { return borders_; }
  std::vector<double> centres() const;

  // The matrices between the layers, and all other parameters.
  std::vector<Tensor> matrices() const;
  std::vector<Tensor> others() const;

 private:
  class Layer;

  Tensor embed(const Tables& tables, const Tensor& statistics, bool with_thinking);
  // Runs the layers; of the rows whose keys `context` has, or, without it, of their own, which are
  // put into `kept` where there is one.
  Tensor run(Tensor tokens, const Tensor& n_columns, const Tensor& n_known,
             const TableContext* context, TableContext* kept);
  Tensor read_out(const Tensor& x, const Tensor& sizes);
  Tensor statistics_of(const Tables& tables) const;

  TabularConfig config_;
  Tensor& encoder_;  // (width, inputs)
  std::vector<std::shared_ptr<Layer>> layers_;
  std::shared_ptr<nn::RmsNorm> last_norm_;
  std::shared_ptr<nn::Linear> decoder_in_;
  std::shared_ptr<nn::Linear> decoder_out_;
  Tensor* borders_ = nullptr;
};

}  // namespace causeway::models
