// Predictions for a table by a tabular transformer: it keeps rows whose target is known, and tells
// others by them. Columns come as numbers; what made them numbers is the caller's.
#pragma once

#include "causeway/models/tabular.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::models {

struct PredictorOptions {
  std::int64_t n_estimators = 4;  // orders of columns and classes whose answers are averaged
  std::int64_t max_features = 100;
  std::int64_t max_rows = 10'000;  // that are known; of more, a sample is kept
  std::uint64_t seed = 0;
  // What may be kept of the known rows between calls; above, it is made again in each.
  std::size_t cache_bytes = std::size_t{4} << 30;

  // Throws invalid_argument where it cannot be.
  void check() const;
};

// `count` of the rows, ascending: of every class (codes from 0 up) its share, and one at least
// where there is room.
std::vector<std::int64_t> stratified_sample(std::span<const std::int64_t> classes,
                                            std::int64_t count, Generator& generator);

class TabularPredictor {
 public:
  TabularPredictor(std::shared_ptr<TabularTransformer> model, const PredictorOptions& options);

  // x (rows, features) f64 on the CPU, NaN where a cell is missing; y (rows,) f64: classes 0 to
  // n_classes - 1, or numbers. Names are for messages, and may be left out.
  void fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
           const std::vector<std::string>& names = {});

  // What fit left out of the table, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }
  bool is_regression() const { return model_->config().is_regression(); }
  std::int64_t n_features() const { return n_features_; }

  // Of rows x (rows, features) f64 on the CPU: (rows, n_classes) f64, or the bins' of a number.
  Tensor probabilities(const Tensor& x);
  // The mean of each row's number, (rows,) f64.
  Tensor numbers(const Tensor& x);

 private:
  struct Column {
    std::int64_t place = 0;  // in the table
    double mean = 0;
    double inverse = 0;  // one over the deviation
  };
  // One order of columns, and how far classes are turned.
  struct Member {
    std::vector<std::int64_t> columns;
    std::int64_t turn = 0;
  };
  // Some members as tables of one batch.
  struct Batch {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void require_fits(const Tensor& y, std::int64_t n_classes) const;
  std::vector<std::int64_t> choose_rows(const Tensor& y);
  void choose_columns(const Tensor& x, const std::vector<std::int64_t>& rows,
                      const std::vector<std::string>& names);
  void make_members();
  std::size_t context_bytes() const;  // of one member
  std::vector<Batch> batches() const;
  bool keeps_contexts() const;
  // Rows of x standardised, in each member's order: (count, rows, features) on the model's device.
  Tensor arrange(const Batch& batch, const double* x, std::int64_t n_rows,
                 std::int64_t row_step) const;
  TableContext make_context(const Batch& batch);
  std::int64_t rows_at_once(const Batch& batch) const;
  // Adds the members' probabilities of some rows.
  void add_answers(const Batch& batch, const Tensor& logits, double* out) const;

  std::shared_ptr<TabularTransformer> model_;
  PredictorOptions options_;
  std::int64_t n_features_ = 0;
  std::int64_t n_outputs_ = 0;
  std::int64_t n_known_ = 0;
  std::vector<Column> columns_;  // those that say something
  Column target_;                // of a number
  std::vector<Member> members_;
  std::vector<double> known_x_;  // (known, features) of the table
  std::vector<double> known_y_;
  std::vector<TableContext> contexts_;  // of every batch, where they are kept
  std::vector<std::string> notes_;
};

}  // namespace causeway::models
