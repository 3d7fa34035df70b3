// Predictions for numeric tables by a tabular transformer: fit keeps the context rows, predict
// predicts the targets of query rows. causeway/tables encodes columns of any type as numbers;
// models/estimator.h combines the two.
#pragma once

#include "causeway/models/ensemble.h"
#include "causeway/models/member_weights.h"
#include "causeway/models/rank_scores.h"
#include "causeway/models/ridge.h"
#include "causeway/models/tabular.h"
#include "causeway/models/target_bins.h"
#include "causeway/tables/features.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace causeway::models {

// Temperatures that are not given: by the task, and by held-back context rows.
inline constexpr double kAutomatic = -1;
inline constexpr double kCalibrated = 0;

// Of the products of linear layers and attention on a CPU. automatic: the operands are rounded to
// bf16, where the CPU has instructions for products of it; sums are f32. On a GPU the model's dtype
// decides.
enum class Precision { automatic, f32 };

const char* to_string(Precision precision);
Precision parse_precision(const std::string& name);

struct PredictorOptions {
  // Ensemble members. There are more where that is needed to read all columns, or to predict more
  // classes than the model has.
  std::int64_t n_estimators = 4;
  std::int64_t max_features = 100;  // of more columns, each member reads a subset
  std::int64_t max_rows = 10'000;   // context rows; of more, each member reads a sample
  std::uint64_t seed = 0;
  // Members take turns.
  std::vector<Transform> transforms = {Transform::none, Transform::power, Transform::power,
                                       Transform::components};
  // Of the target of a regression. Members take turns. `residual` is left out for fewer than 100
  // context rows of all members together, more than 500 columns, or if the linear fit is not
  // significant.
  std::vector<TargetTransform> target_transforms = {TargetTransform::none, TargetTransform::power,
                                                    TargetTransform::residual,
                                                    TargetTransform::residual};
  // Logits are averaged over the members with one target transform.
  Average average = Average::probabilities;
  // Divides the logits. An average of members is less sure than each of them, which kAutomatic
  // corrects: 0.9 for classes, 0.8 for numbers. kCalibrated: by the log loss of held-back context
  // rows, which costs a prediction.
  double temperature = kAutomatic;
  // fitted: fit chooses them by the predictions for held-back context rows, at most 500, from at
  // most 1,000 others.
  MemberWeights member_weights = MemberWeights::automatic;
  Precision precision = Precision::automatic;
  // Memory for contexts cached between calls; if they need more, each call computes them again.
  // Unset: 4 GiB on a CPU, a quarter of the free memory of a GPU.
  std::optional<std::size_t> cache_bytes = {};

  // Throws invalid_argument if an option is out of range.
  void check() const;
};

// Weights of a fit; empty ones count as 1.
struct FitWeights {
  // Each ensemble member reads rows drawn in proportion to these, as many as have a positive
  // weight, so that heavy rows occur several times.
  std::vector<double> rows;
  // The probability of each class is multiplied by its weight, and the result normalised.
  std::vector<double> classes;
};

// n / (n_classes * n_c) of every class c of y, which holds classes from 0 to n_classes - 1.
std::vector<double> balanced_class_weight(const Tensor& y, std::int64_t n_classes);

class TabularPredictor {
 public:
  TabularPredictor(std::shared_ptr<TabularTransformer> model, const PredictorOptions& options);

  // x (rows, features) f64 on the CPU, NaN where a cell is missing; y (rows,) f64: classes 0 to
  // n_classes - 1, or numbers. `features` has the names for messages, and which features are
  // categories. The first prediction computes the contexts. A fit that throws changes nothing.
  void fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
           const tables::Features& features = {}, const FitWeights& weights = {});

  // What a fit keeps. A predictor with the same model and options that restores it, with the same
  // features, predicts the same.
  struct State {
    Tensor x;     // (context rows, features) f64
    Tensor y;     // (context rows,) f64
    Tensor rows;  // (members, rows) i64: the context rows that each member reads
    std::int64_t n_classes = 0;
    std::vector<double> class_weight;
    double temperature = 1;
    std::vector<double> member_weights = {};  // see member_weights()
    // Of members whose target transform is `residual`; unset: if the linear fit is significant.
    std::optional<bool> reads_residuals = {};
  };
  State state() const;
  void restore(const State& state, const tables::Features& features = {});

  const PredictorOptions& options() const { return options_; }
  const std::shared_ptr<TabularTransformer>& model() const { return model_; }
  // Warnings about rows, columns and classes of the last fit.
  const std::vector<std::string>& warnings() const { return fitted_.warnings; }
  bool is_regression() const { return model_->config().is_regression(); }
  std::int64_t n_features() const { return fitted_.n_features; }
  const tables::Features& features() const { return fitted_.features; }
  const std::vector<EnsembleMember>& members() const { return fitted_.members; }
  double temperature() const { return fitted_.temperature; }
  // The weights in the average: of the members, and then of the linear fit if there is one. Empty
  // if the members have equal weights.
  const std::vector<double>& member_weights() const { return fitted_.member_weights; }
  // The targets of a member's context rows as the model reads them.
  std::vector<double> context_targets(const EnsembleMember& member) const;
  // The bins of the target; for regression.
  const TargetBins& bins() const { return fitted_.bins; }
  // The linear fit whose residuals members read; empty if none do.
  const std::optional<Ridge>& ridge() const { return fitted_.ridge; }
  // The columns that are not constant, by their positions.
  const std::vector<std::int64_t>& positions() const { return fitted_.positions; }
  // Mean and deviation of one of them, as read() makes it.
  ColumnTransform::Scale scale(std::int64_t position) const {
    return ColumnTransform::scale_of(column_values(fitted_.x, position));
  }
  // Those that all members read as normal scores of their ranks.
  const RankedColumns& ranked() const { return fitted_.ranked; }
  // A table as members read it before their transforms.
  Tensor read(const Tensor& x) const { return with_ranks(x.contiguous(), fitted_.ranked); }
  // How members with this transform read each column that is not constant; empty if there are none.
  std::span<const ColumnTransform> column_transforms(Transform transform) const {
    const auto found = fitted_.transforms.find(transform);
    return found == fitted_.transforms.end() ? std::span<const ColumnTransform>() : found->second;
  }

  // For x (rows, features) f64 on the CPU: (rows, n_classes) f64, or (rows, bins) for regression.
  // `progress` is called with the fraction of the operations that are done.
  Tensor predict_proba(const Tensor& x, const ProgressHook& progress = {});
  // For regression.
  TargetDistribution predict_distribution(const Tensor& x, const ProgressHook& progress = {});
  // The mean of each row's predicted distribution, (rows,) f64; for regression.
  Tensor predict_mean(const Tensor& x, const ProgressHook& progress = {});
  // The model's last hidden vector of each row, (rows, width) f64, mean over members.
  Tensor embed(const Tensor& x, const ProgressHook& progress = {});
  // How much predictions change if the columns of a group are missing in the query rows: the mean
  // Kullback-Leibler divergence for each group, (groups,) f64. All groups run as one prediction, in
  // which members read only the copies that lack one of their columns.
  Tensor importance(const Tensor& x, const std::vector<std::vector<std::int64_t>>& groups,
                    const ProgressHook& progress = {});

 private:
  // Ensemble members that run as one batch of tables, which have equally many columns.
  struct Batch {
    std::size_t first = 0;
    std::size_t count = 0;
    std::int64_t n_columns = 0;
  };
  // The result of fit.
  struct Fitted {
    std::int64_t n_features = 0;
    tables::Features features;
    std::int64_t n_outputs = 0;
    std::int64_t n_context = 0;  // rows that a member reads
    RankedColumns ranked;
    std::vector<std::int64_t> positions;  // of the columns in the table, without constant ones
    std::map<Transform, std::vector<ColumnTransform>> transforms;  // of those columns
    TargetBins bins;                                               // for regression
    std::optional<Ridge> ridge;                                    // if members read residuals
    std::vector<EnsembleMember> members;
    Tensor given;  // (rows, n_features) f64
    Tensor x;      // with ranked columns
    Tensor y;
    std::vector<double> frequencies;  // of classes
    std::vector<double> class_weight;
    double temperature = 1;
    std::vector<double> member_weights;                 // see member_weights()
    bool caches = false;                                // contexts
    std::vector<std::optional<TableContext>> contexts;  // per batch, if cached
    std::vector<std::string> warnings;
  };
  // The progress of one call.
  class Work;

  static void require_table(const Tensor& x);
  void require_target(const Tensor& y, std::int64_t n_classes) const;
  void require_weights(const FitWeights& weights, std::int64_t n_rows,
                       std::int64_t n_classes) const;
  void require_query(const Tensor& x) const;
  // The most classes that one forward pass predicts.
  std::int64_t most_classes(std::int64_t n_classes) const;
  // The number of members, with sentences for warnings where columns or classes are too many.
  std::int64_t count_members(std::int64_t n_columns, std::int64_t n_classes,
                             std::vector<std::string>& warnings) const;
  // Rows of each member.
  std::vector<std::vector<std::int64_t>> draw_rows(const Tensor& y, std::int64_t n_members,
                                                   const std::vector<double>& weights) const;
  Fitted prepare(const State& state, const tables::Features& features) const;
  void choose_columns(Fitted& fitted) const;
  // The linear fit whose residuals members read; empty if none do.
  std::optional<Ridge> fit_ridge(const Fitted& fitted, std::span<const double> y,
                                 std::optional<bool> reads_residuals) const;
  // What members read instead of the target, and its bins.
  void fit_target(Fitted& fitted, std::optional<bool> reads_residuals) const;
  void keep(Fitted&& fitted);
  bool fits_member_weights(const Fitted& fitted) const;
  // Chooses the members' weights and the temperature, if the options ask for it, by predictions for
  // held-back rows.
  void calibrate(Fitted& fitted) const;
  void fit_member_weights(const Tensor& logits, std::span<const double> fit,
                          const std::vector<double>& targets);
  // The temperature with the least log loss.
  double best_temperature(const Tensor& logits, std::span<const double> fit,
                          const std::vector<double>& targets) const;

  std::size_t context_bytes() const;  // of all members
  std::vector<Batch> batches() const;
  // Whether there is memory to cache contexts of all members.
  bool can_cache() const;
  // Rows of x as the members read them: (count, rows, columns) on the model's device. Without
  // `rows`, each member's context rows.
  Tensor arrange(const Batch& batch, const double* x,
                 std::optional<std::span<const std::int64_t>> rows) const;
  TableContext make_context(const Batch& batch, const ProgressHook& progress) const;
  // The context of a batch, cached or computed.
  TableContext context_of(std::size_t number, const Batch& batch, Work& work);
  std::int64_t rows_at_once(const Batch& batch) const;
  // The rows of a table that differ in the cells that a batch reads: the first of equal ones, and
  // for each row which of those it is.
  struct Distinct {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> places;
  };
  Distinct distinct_rows(const Batch& batch, const Tensor& table) const;
  Work plan_work(const std::vector<Batch>& all, const std::vector<Distinct>& rows,
                 const ProgressHook& hook) const;
  // Runs all members on all rows; those that read the same run once. run(context, query rows,
  // progress) is (members of a batch, rows, width) in any floating dtype; the result (rows,
  // members, width) f32.
  using Run = std::function<Tensor(const TableContext&, const Tensor&, const ProgressHook&)>;
  Tensor run_members(const Tensor& x, std::int64_t width, const ProgressHook& progress,
                     const Run& run);
  Tensor member_logits(const Tensor& x, const ProgressHook& progress);
  // The linear fit's prediction for each row; empty if members read no residuals.
  std::vector<double> linear_fit(const Tensor& x) const;
  // Probabilities from the logits of all members, as of predict_proba.
  Tensor combine(const Tensor& logits, std::span<const double> fit, double temperature) const;
  TargetDistribution distribution(const Tensor& logits, std::span<const double> fit,
                                  double temperature) const;
  // Of one member: probabilities of classes, or of the model's bins.
  Tensor of_member(const Tensor& logits, std::size_t i, double temperature) const;

  std::shared_ptr<TabularTransformer> model_;
  PredictorOptions options_;
  std::optional<bool> reads_residuals_;  // of the next fit; set by calibrate
  Fitted fitted_;
  std::unique_ptr<std::mutex> lock_;  // guards the contexts, since several threads may predict
};

}  // namespace causeway::models
