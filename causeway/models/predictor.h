// Predictions for numeric tables by a tabular transformer: fit keeps the context rows, predict
// predicts the targets of query rows. causeway/tables encodes columns of any type as numbers;
// models/estimator.h combines the two.
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
  std::int64_t n_estimators = 4;  // ensemble members: permutations of columns and classes
  std::int64_t max_features = 100;
  std::int64_t max_rows = 10'000;  // context rows; of more, a sample is kept
  std::uint64_t seed = 0;
  // Memory for contexts cached between calls; if they need more, each call computes them again.
  std::size_t cache_bytes = std::size_t{4} << 30;

  // Throws invalid_argument if an option is out of range.
  void check() const;
  // Throws invalid_argument if this number of features is more than max_features.
  void require_features(std::int64_t n_features) const;
};

class TabularPredictor {
 public:
  TabularPredictor(std::shared_ptr<TabularTransformer> model, const PredictorOptions& options);

  // x (rows, features) f64 on the CPU, NaN where a cell is missing; y (rows,) f64: classes 0 to
  // n_classes - 1, or numbers. `names` are used in messages. The first prediction computes the
  // contexts. A fit that throws changes nothing.
  void fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
           const std::vector<std::string>& names = {});

  const PredictorOptions& options() const { return options_; }
  // Warnings about rows and columns that fit left out.
  const std::vector<std::string>& warnings() const { return fitted_.warnings; }
  bool is_regression() const { return model_->config().is_regression(); }
  std::int64_t n_features() const { return fitted_.n_features; }
  // The context rows kept by fit: (rows, features) and (rows,) f64.
  Tensor context_x() const;
  Tensor context_y() const;

  // For x (rows, features) f64 on the CPU: (rows, n_classes) f64, or (rows, bins) for regression.
  // `progress` is called with the fraction of the operations that are done.
  Tensor predict_proba(const Tensor& x, const ProgressHook& progress = {});
  // The mean of each row's predicted distribution, (rows,) f64; for regression.
  Tensor predict_mean(const Tensor& x, const ProgressHook& progress = {});
  // For regression, of probabilities that predict_proba returned: the means, (rows,) f64, and the
  // probability of numbers below y, (rows,) f64.
  Tensor means(const Tensor& probabilities) const;
  std::vector<double> cumulative(const Tensor& probabilities, const Tensor& y) const;

 private:
  struct Column {
    std::int64_t position = 0;  // in the table
    double mean = 0;
    double inverse = 0;  // one over the standard deviation
  };
  // One permutation of the columns, and the offset by which class codes are rotated.
  struct Member {
    std::vector<std::int64_t> columns;
    std::int64_t shift = 0;
  };
  // Ensemble members that run as one batch of tables.
  struct Batch {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  // The result of fit.
  struct Fitted {
    std::int64_t n_features = 0;
    std::int64_t n_outputs = 0;
    std::int64_t n_context = 0;
    std::vector<Column> columns;  // without constant ones
    Column target;                // for regression
    std::vector<Member> members;
    std::vector<double> x;  // (n_context, n_features)
    std::vector<double> y;
    std::vector<std::optional<TableContext>> contexts;  // per batch, if cached
    std::vector<std::string> warnings;
  };
  // The progress of one call.
  class Work;

  static void require_table(const Tensor& x);
  void require_target(const Tensor& y, std::int64_t n_classes) const;
  std::vector<std::int64_t> choose_rows(const Tensor& y, std::vector<std::string>& warnings) const;
  void choose_columns(Fitted& fitted, const std::vector<std::string>& names) const;
  void make_members(Fitted& fitted) const;
  std::size_t context_bytes() const;  // of one member
  std::vector<Batch> batches() const;
  bool caches_contexts() const;
  // x standardised, with each member's column order: (count, rows, features) on the model's device.
  Tensor arrange(const Batch& batch, const double* x, std::int64_t n_rows) const;
  TableContext make_context(const Batch& batch, const ProgressHook& progress) const;
  // The context of a batch, cached or computed.
  TableContext context_of(std::size_t number, const Batch& batch, Work& work);
  std::int64_t rows_at_once(const Batch& batch) const;
  Work plan_work(const std::vector<Batch>& all, std::int64_t n_rows,
                 const ProgressHook& hook) const;
  // Adds the members' share of the averaged probabilities.
  void add_probabilities(const Batch& batch, const Tensor& logits, double* out) const;

  std::shared_ptr<TabularTransformer> model_;
  PredictorOptions options_;
  Fitted fitted_;
  std::unique_ptr<std::mutex> lock_;  // guards the contexts, since several threads may predict
};

}  // namespace causeway::models
