// A transformer over tables (Hollmann et al. 2025; nanoTabPFN): attention between the columns of a
// row, then between the rows of a column, where every row sees only the context rows, whose targets
// are given. It predicts the targets of the query rows in one pass.
#pragma once

#include "causeway/models/kernels/tabular.h"
#include "causeway/models/tabular_layer.h"
#include "causeway/models/tabular_work.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::models {

struct TabularConfig {
  std::int64_t width = 128;  // embedding width
  std::int64_t heads = 4;
  std::int64_t hidden = 384;  // of the MLP
  std::int64_t layers = 4;
  std::int64_t group = 3;        // columns that one feature token reads
  std::int64_t thinking = 16;    // learned rows that every row attends to
  std::int64_t classes = 10;     // maximum number of classes; 0: regression
  std::int64_t bins = 64;        // of the predicted distribution of a numeric target
  bool pre_norm = true;          // RMS norm before each branch, else layer norm after it
  bool projection = true;        // after attention
  double residual_decay = 1;     // layer i scales its input by decay^i
  bool class_as_number = false;  // in the input; query rows then have the mean
  bool mean_readout = false;     // of the feature tokens, else the target token

  bool is_regression() const { return classes == 0; }
  std::int64_t outputs() const { return is_regression() ? bins : classes; }
  kernels::TableInputs inputs() const;
  // Whether the first of several layers makes q, k and v of the inputs, with no token in between:
  // no norm stands there, and the two products are one with fewer terms.
  bool joins_encoder() const { return !pre_norm && inputs().width() < width && layers > 1; }

  // The products and attention of a training step on tables of so many rows, half of them context
  // rows: forward, and twice that backward.
  double step_flops(std::int64_t tables, std::int64_t rows, std::int64_t features) const;

  // Throws invalid_argument where it cannot be.
  void check() const;
  // "default", "nanotabpfn" or "speedrun".
  static TabularConfig preset(std::string_view name);
  std::string to_json() const;
  static TabularConfig from_json(std::string_view text);
};

const ConfigDescription<TabularConfig>& describe_tabular();

// A batch of tables, padded and contiguous, on one device: see kernels/tabular.h.
struct Tables {
  Tensor x;      // (tables, rows, features) f32
  Tensor y;      // (tables, rows) f32
  Tensor sizes;  // (tables, 3) i64: rows, features, context rows, which come first
};

// The keys and values of context rows, which queries attend to.
struct TableContext {
  Tensor sizes;
  Tensor statistics;
  std::vector<Tensor> layers;  // keys and values (tables, rows, columns * heads, 2, size) of each
};

class TabularTransformer : public nn::Module {
 public:
  explicit TabularTransformer(const TabularConfig& config, const nn::Placement& placement = {});

  const TabularConfig& config() const { return config_; }

  // (tables, rows, outputs), also of context rows, where they mean nothing.
  Tensor logits(const Tables& tables);
  // The cross entropy of the query rows: the mean of each table, and then of the tables, so that
  // parts of a batch add up to it. A table without query rows counts as 0.
  Tensor loss(const Tables& tables);

  // The context rows of tables, without their query rows. `progress` hears how much is done.
  TableContext encode_context(const Tables& tables, const ProgressHook& progress = {});
  // The logits (tables, rows, outputs) of query rows (tables, rows, features): those of logits()
  // with the same context rows.
  Tensor predict_logits(const TableContext& context, const Tensor& x,
                        const ProgressHook& progress = {});

  // Of a numeric target, standardised by the context rows: the borders of its bins, (bins - 1,)
  // f32, and the bins' means under the normal distribution that the borders assume.
  const Tensor* borders() const { return borders_; }
  std::vector<double> centres() const;

  // The matrices of the layers, and all other parameters.
  std::vector<Tensor> matrices() const;
  std::vector<Tensor> others() const;

 private:
  void check(const Tables& tables) const;
  Tensor statistics_of(const Tables& tables) const;
  // What the encoder makes tokens of, (tables, rows, columns, inputs).
  Tensor numbers_of(const Tables& tables, const Tensor& statistics, bool with_thinking) const;
  // Runs the layers. Queries attend to `from` where it is given, else rows to the context rows
  // among them, whose keys and values go into `into` where that is given; the result is then not
  // used. Inference has a meter.
  Tensor run(const Tensor& numbers, const Tensor& sizes, const TableContext* from,
             TableContext* into, WorkMeter* meter);
  Tensor among_columns(std::size_t layer, const Tensor& read, const Tensor& n_columns);
  // The norm that reads the stream behind branch 0, 1 or 2 of a layer.
  TabularNorm& norm_behind(std::size_t layer, std::size_t branch) const;
  Tensor read_out(const Tensor& x, const Tensor& sizes);
  Tensor forward(const Tables& tables, const Tensor& statistics);

  TabularConfig config_;
  Tensor& encoder_;  // (width, inputs)
  std::vector<std::shared_ptr<TabularLayer>> layers_;
  std::shared_ptr<TabularNorm> last_norm_;  // where norms come before the branches
  std::shared_ptr<nn::Linear> decoder_in_;
  std::shared_ptr<nn::Linear> decoder_out_;
  Tensor* borders_ = nullptr;
};

}  // namespace causeway::models
