// The floating-point operations of an inference pass, and its progress. On the CPU long branches
// run in pieces, so that progress is reported every few hundred milliseconds.
#pragma once

#include "causeway/tensor/indexing.h"
#include "causeway/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace causeway::models {

struct TabularConfig;

// Called with the fraction of the work that is done, from 0 to 1. An exception ends the work.
using ProgressHook = std::function<void(double done)>;

// The operations of matrix products and attention for the rows of one table.
class TabularWork {
 public:
  // Context rows, which attend to each other.
  static TabularWork of_context(const TabularConfig& config, std::int64_t n_rows,
                                std::int64_t n_features);
  // Query rows, which attend to `n_context` context rows.
  static TabularWork of_query(const TabularConfig& config, std::int64_t n_rows,
                              std::int64_t n_features, std::int64_t n_context);

  // Attention between columns, the projections for attention between rows, that attention, the MLP.
  struct Layer {
    double columns = 0;
    double projections = 0;
    double rows = 0;
    double mlp = 0;
  };
  const Layer& layer(std::size_t i) const { return layers_[i]; }
  double total() const;

 private:
  TabularWork(const TabularConfig& config, std::int64_t n_rows, std::int64_t n_features,
              std::int64_t n_keys, bool is_context);

  std::vector<Layer> layers_;
};

// Adds up the work done and reports the fraction.
class WorkMeter {
 public:
  WorkMeter(TabularWork work, std::int64_t n_tables, const ProgressHook& hook)
      : work_(std::move(work)), total_(work_.total()), n_tables_(n_tables), hook_(hook) {}

  const TabularWork::Layer& layer(std::size_t i) const { return work_.layer(i); }

  // Applies body(slice, begin, end) to slices of x along `axis`, each a multiple of `unit`, and
  // concatenates the results along the same axis.
  template <class Body>
  Tensor in_pieces(double flops, const Tensor& x, int axis, std::int64_t unit, Body&& body) {
    constexpr double kPiece = 1e10;  // about 0.1 s on two cores
    const std::int64_t size = x.size(axis);
    const std::int64_t n_units = size / unit;
    const bool whole = x.device().is_cuda() || n_tables_ != 1 || n_units <= 1;
    const auto wanted = whole ? 1 : static_cast<std::int64_t>(std::ceil(flops / kPiece));
    const std::int64_t n_pieces =
        std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(n_units, 1));
    if (n_pieces == 1) {
      const Tensor result = body(x, std::int64_t{0}, size);
      add(flops);
      return result;
    }
    std::vector<Tensor> results;
    for (std::int64_t i = 0; i < n_pieces; ++i) {
      const std::int64_t begin = n_units * i / n_pieces * unit;
      const std::int64_t end = n_units * (i + 1) / n_pieces * unit;
      results.push_back(body(x.slice(axis, begin, end).contiguous(), begin, end));
      add(flops / static_cast<double>(n_pieces));
    }
    return concatenate(results, axis);
  }

 private:
  void add(double flops) {
    done_ += flops;
    if (hook_) hook_(std::min(done_ / total_, 1.0));
  }

  TabularWork work_;
  double total_;
  double done_ = 0;
  std::int64_t n_tables_;
  const ProgressHook& hook_;
};

}  // namespace causeway::models
