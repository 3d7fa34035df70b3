// A transformer over tables (Hollmann et al. 2025; nanoTabPFN): attention between the columns of a
// row, then between the rows of a column, where every row attends to the context rows only. It
// predicts the targets of the query rows in one forward pass.
#pragma once

#include "causeway/models/tabular_decoder.h"
#include "causeway/models/tabular_encoder.h"
#include "causeway/models/tabular_layer.h"
#include "causeway/models/tabular_work.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::models {

// Which tokens of a context row receive the embedding of its label.
enum class LabelPlacement { column, cells };
// What the encoder reads of a cell: its standardised value, or also its rank in the column and
// Gaussian bumps of the value.
enum class CellEncoding { linear, radial };
// The branches of a layer.
enum class LayerOrder { columns_rows_mlp, rows_mlp_columns };
// How logits are computed: by an MLP with an output per class or bin, or by attention over the
// labelled rows, for any number of classes.
enum class TabularDecoder { linear, retrieval };

struct TabularConfig {
  std::int64_t width = 128;  // embedding width
  std::int64_t heads = 4;
  std::int64_t hidden = 384;  // of the MLP
  std::int64_t layers = 4;
  std::int64_t group = 3;              // columns that one feature token reads
  std::int64_t columns_per_token = 1;  // of tables with more than 16 features: columns / tokens
  std::int64_t thinking = 16;          // learned rows that every row attends to
  std::int64_t classes = 10;           // maximum number of classes; 0: regression
  std::int64_t bins = 64;              // of the predicted distribution of a numeric target
  bool pre_norm = true;                // RMS norm before each branch, else layer norm after it
  bool projection = true;              // linear projection after attention
  bool biases = true;                  // of the linear maps of layers
  double residual_decay = 1;           // layer i scales its input by decay^i
  bool class_as_number = false;        // instead of one-hot; query rows get the mean
  CellEncoding cell_encoding = CellEncoding::linear;
  LabelPlacement labels = LabelPlacement::column;  // the target token, or the feature tokens too
  LayerOrder layer_order = LayerOrder::columns_rows_mlp;
  TabularDecoder decoder = TabularDecoder::linear;
  bool scaled_softmax = false;  // attention between rows scales by the logarithm of the context
  bool mean_readout = false;    // read the mean of the feature tokens, else the target token

  bool is_regression() const { return classes == 0; }
  std::int64_t outputs() const { return is_regression() ? bins : classes; }
  kernels::TableInputs inputs() const;
  // Tokens of a row of a table, including the target's.
  std::int64_t tokens(std::int64_t features) const { return 1 + inputs().feature_tokens(features); }
  // Whether the first layer computes q, k and v directly from the inputs: without a norm in
  // between, the encoder and the qkv projection are one smaller matrix product.
  bool fuses_encoder() const {
    return !pre_norm && inputs().width() < width && layers > 1 &&
           layer_order == LayerOrder::columns_rows_mlp;
  }

  // Floating-point operations of a training step on tables of which half the rows are context rows:
  // matrix products and attention, forward and twice that for backward.
  double step_flops(std::int64_t tables, std::int64_t rows, std::int64_t features) const;
  // Bytes of the activations of such a step, and of what its backward pass computes from them, with
  // elements of `dtype`: an estimate from above. `recomputes`: see recompute_layers.
  std::size_t step_bytes(std::int64_t tables, std::int64_t rows, std::int64_t features, DType dtype,
                         bool recomputes = false) const;

  std::int64_t n_parameters() const;

  // Throws invalid_argument.
  void check() const;
  // "default", "nanotabpfn" or "speedrun".
  static TabularConfig preset(std::string_view name);
  std::string to_json() const;
  static TabularConfig from_json(std::string_view text);
};

const ConfigDescription<TabularConfig>& describe_tabular();

// The keys and values of context rows, which queries attend to.
struct TableContext {
  Tensor sizes;
  TableStatistics statistics;
  Tensor y;                    // (tables, rows) f32
  std::optional<Tensor> keys;  // (tables, rows, width) of a retrieval decoder
  std::vector<Tensor> layers;  // keys and values (tables, rows, columns * heads, 2, size) of each
};

class TabularTransformer : public nn::Module {
 public:
  explicit TabularTransformer(const TabularConfig& config, const nn::Placement& placement = {});

  const TabularConfig& config() const { return config_; }

  // (tables, rows, outputs); the values of context rows are meaningless.
  Tensor logits(const Tables& tables);
  // The cross entropy of the query rows: the mean over each table, then over tables. A table
  // without query rows counts as 0.
  Tensor loss(const Tables& tables);

  // Encodes the context rows of tables. `progress` is called with the fraction that is done.
  TableContext encode_context(const Tables& tables, const ProgressHook& progress = {});
  // The logits (tables, rows, outputs) of query rows x (tables, rows, features), equal to those of
  // logits() with the same context rows. A retrieval decoder can score more classes than
  // config().classes.
  Tensor predict_logits(const TableContext& context, const Tensor& x,
                        const ProgressHook& progress = {}, std::int64_t n_classes = 0);
  // What the decoder reads of each query row: (tables, rows, width).
  Tensor embed(const TableContext& context, const Tensor& x, const ProgressHook& progress = {});

  // Whether losses and logits keep the activations of one layer only and compute those of the
  // others again in the backward pass: slower, with less memory.
  void recompute_layers(bool recomputes) { recomputes_ = recomputes; }

  // For regression, in units of the standardised target: the borders of the bins, (bins - 1,) f32,
  // and the bins' means under the normal distribution from which the borders are computed.
  const Tensor* borders() const { return borders_; }
  std::vector<double> centres() const;

  // The matrices of the layers, and all other parameters.
  std::vector<Tensor> matrices() const;
  std::vector<Tensor> others() const;

 private:
  // Runs the layers. With `from`, query rows attend to that context; else rows attend to the
  // context rows among them. With `into`, the context's keys and values are stored there and the
  // result is not used. `meter` reports progress during inference.
  Tensor run(const Tensor& inputs, const Tensor& sizes, const TableContext* from,
             TableContext* into, WorkMeter* meter);
  // What all layers of a run share.
  struct Pass {
    Tensor inputs;
    Tensor n_columns;  // tokens per row
    Tensor n_context;
    const TableContext* from = nullptr;
    TableContext* into = nullptr;
    WorkMeter* meter = nullptr;
  };
  Residual run_layer(std::size_t i, Residual residual, const Pass& pass);
  Tensor columns_branch(std::size_t i, const Residual& residual, const Pass& pass);
  // Nothing after the last keys and values of a context that is encoded.
  std::optional<Tensor> rows_branch(std::size_t i, const Residual& residual, const Pass& pass);
  Tensor mlp_branch(std::size_t i, const Residual& residual, const Pass& pass);
  Residual run_layer_recomputed(std::size_t i, const Residual& residual, const Pass& pass);
  Tensor among_columns(std::size_t layer, const Tensor& read, const Tensor& n_columns);
  // The norm after the branch at position 0, 1 or 2 of a layer.
  TabularNorm& norm_after(std::size_t layer, std::size_t position) const;
  // What the decoder reads of each row, (tables, rows, width).
  Tensor read_out(const Tensor& x, const Tensor& sizes) const;
  Tensor decode(const Tensor& read, const TableContext& context, std::int64_t n_classes);
  Tensor forward_tables(const Tables& tables, const TableStatistics& statistics);

  TabularConfig config_;
  bool recomputes_ = false;
  Tensor& encoder_;  // (width, inputs)
  std::vector<std::shared_ptr<TabularLayer>> layers_;
  std::shared_ptr<TabularNorm> last_norm_;  // with pre_norm
  std::shared_ptr<nn::Linear> decoder_in_;  // of a linear decoder
  std::shared_ptr<nn::Linear> decoder_out_;
  std::shared_ptr<RetrievalDecoder> retrieval_;
  Tensor* borders_ = nullptr;
};

}  // namespace causeway::models
