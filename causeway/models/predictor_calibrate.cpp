// What TabularPredictor::fit chooses by predictions for held-back context rows: the weights of the
// ensemble's members, and the temperature.
#include "causeway/models/golden_section.h"
#include "causeway/models/predictor.h"
#include "causeway/tables/split.h"
#include "causeway/tensor/indexing.h"

#include <algorithm>
#include <cmath>

namespace causeway::models {

bool TabularPredictor::fits_member_weights(const Fitted& fitted) const {
  const bool wanted = options_.member_weights == MemberWeights::fitted ||
                      (options_.member_weights == MemberWeights::automatic && is_regression());
  const bool has_groups = !is_regression() && fitted.n_outputs > most_classes(fitted.n_outputs);
  return wanted && fitted.members.size() > 1 && !has_groups;
}

void TabularPredictor::calibrate(Fitted& fitted) const {
  constexpr std::int64_t kFewest = 20;
  constexpr std::int64_t kMostHeld = 500;
  constexpr std::int64_t kMostContext = 1000;
  const bool fits_temperature = options_.temperature == kCalibrated;
  const bool fits_weights = fits_member_weights(fitted);
  if (fits_temperature) fitted.temperature = 1;
  const std::int64_t n_rows = fitted.y.size(0);
  if (n_rows < kFewest || fitted.n_outputs == 1 || !(fits_temperature || fits_weights)) return;
  std::vector<std::int64_t> strata(static_cast<std::size_t>(n_rows), 0);
  if (!is_regression()) strata = fitted.y.to(DType::i64).to_vector<std::int64_t>();
  std::int64_t n_context = n_rows * 4 / 5;
  if (!fits_temperature) n_context = std::min(n_context, kMostContext);
  Generator generator(options_.seed);
  const tables::Halves parts = tables::split(strata, n_context, generator);
  const Tensor order = generator.permutation(parts.query.size(0));
  const Tensor held =
      index_select(parts.query, 0, order.slice(0, 0, std::min(order.size(0), kMostHeld)));
  PredictorOptions options = options_;
  options.member_weights = MemberWeights::equal;
  if (fits_temperature) options.temperature = 1;
  TabularPredictor inner(model_, options);
  inner.reads_residuals_ = fitted.ridge.has_value();
  inner.fit(index_select(fitted.given, 0, parts.context), index_select(fitted.y, 0, parts.context),
            is_regression() ? 0 : fitted.n_outputs, fitted.features);
  const Tensor x = index_select(fitted.given, 0, held);
  const Tensor logits = inner.member_logits(x, {});
  const std::vector<double> fit = inner.linear_fit(x);
  const auto targets = index_select(fitted.y, 0, held).to_vector<double>();
  // Columns that are constant in the smaller context can change the number of members, or leave
  // nothing for a linear fit.
  if (fits_weights && inner.members().size() == fitted.members.size() &&
      inner.fitted_.ridge.has_value() == fitted.ridge.has_value()) {
    inner.fit_member_weights(logits, fit, targets);
    fitted.member_weights = inner.fitted_.member_weights;
  }
  if (fits_temperature) fitted.temperature = inner.best_temperature(logits, fit, targets);
}

void TabularPredictor::fit_member_weights(const Tensor& logits, std::span<const double> fit,
                                          const std::vector<double>& targets) {
  const std::size_t n_members = fitted_.members.size();
  std::vector<double> before(n_members, 1 / static_cast<double>(n_members));
  if (!fit.empty()) before.push_back(0);  // the linear fit has to earn its weight
  const std::size_t n_weights = before.size();
  std::vector<double> of_members(targets.size() * n_weights);
  for (std::size_t row = 0; row < fit.size(); ++row) {
    of_members[row * n_weights + n_members] = fit[row];
  }
  for (std::size_t i = 0; i < n_members; ++i) {
    const Tensor p = of_member(logits, i, options_.temperature);
    const auto* of_row = p.data_as<double>();
    const TargetTransform transform = fitted_.members[i].target_transform;
    for (std::size_t row = 0; row < targets.size(); ++row, of_row += p.size(1)) {
      of_members[row * n_weights + i] =
          is_regression() ? fitted_.bins.mean(transform, of_row, fit.empty() ? 0 : fit[row])
                          : of_row[static_cast<std::size_t>(targets[row])];
    }
  }
  fitted_.member_weights = is_regression() ? weights_of_least_squares(of_members, targets, before)
                                           : weights_of_most_likelihood(of_members, n_members);
}

double TabularPredictor::best_temperature(const Tensor& logits, std::span<const double> fit,
                                          const std::vector<double>& targets) const {
  std::vector<std::size_t> truth;  // the output of each row
  const std::vector<double>& edges = fitted_.bins.edges();
  for (const double target : targets) {
    if (!is_regression()) {
      truth.push_back(static_cast<std::size_t>(target));
      continue;
    }
    const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, target);
    truth.push_back(static_cast<std::size_t>(above - edges.begin()) - 1);
  }
  const auto loss = [&](double log_temperature) {
    const Tensor p = combine(logits, fit, std::exp(log_temperature));
    double sum = 0;
    for (std::size_t row = 0; row < truth.size(); ++row) {
      const auto at = row * static_cast<std::size_t>(p.size(1)) + truth[row];
      sum -= std::log(std::max(p.data_as<double>()[at], 1e-300));
    }
    return sum;
  };
  return std::exp(least_argument(std::log(0.25), std::log(4), 16, loss));
}

}  // namespace causeway::models
