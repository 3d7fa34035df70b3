// TabularPredictor::fit for numeric targets: the linear fit, and the bins and scale of the target.
#include "causeway/models/predictor.h"

#include <algorithm>
#include <set>

namespace causeway::models {

namespace {

// The context rows of all members if sample weights repeat some, else none.
std::vector<std::int64_t> repeated_rows(const std::vector<EnsembleMember>& members) {
  std::vector<std::int64_t> all;
  bool repeats = false;
  for (const EnsembleMember& member : members) {
    const std::set<std::int64_t> different(member.rows.begin(), member.rows.end());
    repeats = repeats || different.size() < member.rows.size();
    all.insert(all.end(), member.rows.begin(), member.rows.end());
  }
  return repeats ? all : std::vector<std::int64_t>();
}

std::vector<double> values_of(const std::vector<std::int64_t>& rows,
                              const std::vector<double>& of_table) {
  std::vector<double> values;
  if (of_table.empty()) return values;
  for (const std::int64_t row : rows) values.push_back(of_table[static_cast<std::size_t>(row)]);
  return values;
}

}  // namespace

std::optional<Ridge> TabularPredictor::fit_ridge(const Fitted& fitted, std::span<const double> y,
                                                 std::optional<bool> reads_residuals) const {
  constexpr std::int64_t kFewestRows = 100;
  constexpr std::int64_t kMostColumns = 500;
  const bool is_possible = std::ssize(fitted.positions) <= kMostColumns &&
                           !ColumnTransform(Transform::none, y).is_constant();
  if (!is_possible || !reads_residuals.value_or(std::ssize(y) >= kFewestRows)) return std::nullopt;
  PrincipalComponents components(fitted.x, fitted.positions, fitted.features,
                                 options_.max_features);
  if (components.size() == 0) return std::nullopt;
  Ridge ridge(std::move(components), fitted.x, y);
  if (!reads_residuals.value_or(ridge.is_significant())) return std::nullopt;
  return ridge;
}

void TabularPredictor::fit_target(Fitted& fitted, std::optional<bool> reads_residuals) const {
  const auto y = fitted.y.to_vector<double>();
  const std::size_t n_members = fitted.members.size();
  std::vector<TargetTransform> turns = options_.target_transforms;
  const auto last = turns.begin() + std::min(std::ssize(turns), std::ssize(fitted.members));
  if (std::find(turns.begin(), last, TargetTransform::residual) != last) {
    fitted.ridge = fit_ridge(fitted, y, reads_residuals);
  }
  if (!fitted.ridge.has_value()) std::erase(turns, TargetTransform::residual);
  if (turns.empty()) turns = {TargetTransform::none};
  for (std::size_t i = 0; i < n_members; ++i) {
    fitted.members[i].target_transform = turns[i % turns.size()];
  }
  const auto borders = model_->borders()->to(Device::cpu()).to(DType::f64).to_vector<double>();
  const auto residuals =
      fitted.ridge.has_value() ? fitted.ridge->residuals() : std::vector<double>();
  turns.resize(std::min(turns.size(), n_members));
  if (const auto rows = repeated_rows(fitted.members); !rows.empty()) {
    fitted.bins = TargetBins({borders, model_->centres()}, values_of(rows, y),
                             values_of(rows, residuals), turns);
    return;
  }
  fitted.bins = TargetBins({borders, model_->centres()}, y, residuals, turns);
}

}  // namespace causeway::models
