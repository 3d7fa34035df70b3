// Predictions for a table of numbers by a tabular transformer: it keeps the context rows, whose
// targets are given, and predicts the targets of query rows. causeway/tables makes columns of any
// type numbers; models/estimator.h joins the two.
#pragma once

#include "causeway/models/tabular.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace causeway::models {

struct PredictorOptions {
  std::int64_t n_estimators = 4;  // ensemble members: orders of columns and classes
  std::int64_t max_features = 100;
  std::int64_t max_rows = 10'000;  // context rows; of more, a sample is kept
  std::uint64_t seed = 0;
  // Memory for the contexts that are kept between calls; beyond it each call computes them again.
  std::size_t cache_bytes = std::size_t{4} << 30;

  // Throws invalid_argument where an option is out of range.
  void check() const;
};

class TabularPredictor {
 public:
  TabularPredictor(std::shared_ptr<TabularTransformer> model, const PredictorOptions& options);

  // x (rows, features) f64 on the CPU, NaN where a cell is missing; y (rows,) f64: classes 0 to
  // n_classes - 1, or numbers. Names are for messages, and may be left out. The model does not run
  // yet: contexts are computed by the first prediction. A fit that throws changes nothing.
  void fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
           const std::vector<std::string>& names = {});

  // What fit left out of the table, a sentence each.
  const std::vector<std::string>& warnings() const { return fitted_.warnings; }
  bool is_regression() const { return model_->config().is_regression(); }
  std::int64_t n_features() const { return fitted_.n_features; }
  // The context rows that were kept, as fit got them: (rows, features) and (rows,) f64.
  Tensor context_x() const;
  Tensor context_y() const;

  // Of rows x (rows, features) f64 on the CPU: (rows, n_classes) f64, or for regression (rows,
  // bins). `progress` is called with the fraction of the operations that are done.
  Tensor predict_proba(const Tensor& x, const ProgressHook& progress = {});
  // The mean of each row's predicted distribution, (rows,) f64; for regression.
  Tensor predict_mean(const Tensor& x, const ProgressHook& progress = {});

 private:
  struct Column {
    std::int64_t position = 0;  // in the table
    double mean = 0;
    double inverse = 0;  // one over the standard deviation
  };
  // One order of columns, and by how much class codes are rotated.
  struct Member {
    std::vector<std::int64_t> columns;
    std::int64_t shift = 0;
  };
  // Some members as tables of one batch.
  struct Batch {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  // What fit makes.
  struct Fitted {
    std::int64_t n_features = 0;
    std::int64_t n_outputs = 0;
    std::int64_t n_context = 0;
    std::vector<Column> columns;  // those that vary
    Column target;                // of a number
    std::vector<Member> members;
    std::vector<double> x;  // (n_context, n_features)
    std::vector<double> y;
    std::vector<std::optional<TableContext>> contexts;  // by batch, where they are kept
    std::vector<std::string> warnings;
  };
  // The work of one call, as units of operations done one after the other.
  class Work;

  static void require_table(const Tensor& x);
  void require_target(const Tensor& y, std::int64_t n_classes) const;
  std::vector<std::int64_t> choose_rows(const Tensor& y, std::vector<std::string>& warnings) const;
  void choose_columns(Fitted& fitted, const std::vector<std::string>& names) const;
  void make_members(Fitted& fitted) const;
  std::size_t context_bytes() const;  // of one member
  std::vector<Batch> batches() const;
  bool keeps_contexts() const;
  // Rows of x standardised, in each member's order: (count, rows, features) on the model's device.
  Tensor arrange(const Batch& batch, const double* x, std::int64_t n_rows) const;
  TableContext make_context(const Batch& batch, const ProgressHook& progress) const;
  // The context of a batch: kept from an earlier call, or computed.
  TableContext context_of(std::size_t number, const Batch& batch, Work& work);
  std::int64_t rows_at_once(const Batch& batch) const;
  Work plan_work(const std::vector<Batch>& all, std::int64_t n_rows,
                 const ProgressHook& hook) const;
  // Adds the members' probabilities of some rows.
  void add_probabilities(const Batch& batch, const Tensor& logits, double* out) const;

  std::shared_ptr<TabularTransformer> model_;
  PredictorOptions options_;
  Fitted fitted_;
  std::unique_ptr<std::mutex> lock_;  // of the contexts: several threads may predict
};

}  // namespace causeway::models
