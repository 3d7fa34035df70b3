#include "causeway/models/principal_components.h"

#include "causeway/kernels/matmul/product_cpu.h"
#include "causeway/models/symmetric_eigen.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace causeway::models {

namespace {

using kernels::cpu::Panels;
using kernels::cpu::whole_panels;

constexpr double kNumber = std::numeric_limits<double>::quiet_NaN();  // level of a number
constexpr double kLeastVariance = 1e-7;  // of a component, as a fraction of the largest
constexpr std::int64_t kRowsTogether = 128;

// The most frequent levels of a categorical column, at most `most`; of equally frequent ones the
// smaller.
std::vector<double> frequent_levels(const std::vector<double>& column, std::size_t most) {
  std::map<double, std::int64_t> counts;
  for (const double value : column) {
    if (!std::isnan(value)) ++counts[value];
  }
  std::vector<std::pair<double, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<double> levels;
  for (const auto& [level, count] : sorted) levels.push_back(level);
  levels.resize(std::min(levels.size(), most));
  return levels;
}

// 1 or -1, so that the loading of the greatest magnitude becomes positive; of loadings that are
// equal but for rounding the first decides.
double sign_of(std::span<const double> loadings) {
  double greatest = 0;
  for (const double loading : loadings) greatest = std::max(greatest, std::fabs(loading));
  const auto first = std::ranges::find_if(
      loadings, [&](double loading) { return std::fabs(loading) >= (1 - 1e-9) * greatest; });
  return *first < 0 ? -1 : 1;
}

}  // namespace

double PrincipalComponents::Input::operator()(double cell) const {
  if (std::isnan(cell)) return 0;
  const double value = std::isnan(level) ? cell : (cell == level ? 1.0 : 0.0);
  return std::clamp(scale(value), -kMostDeviations, kMostDeviations);
}

PrincipalComponents::PrincipalComponents(const Tensor& x, std::span<const std::int64_t> positions,
                                         const tables::Features& features, std::int64_t most) {
  choose_inputs(x, positions, features);
  const std::int64_t n_inputs = std::ssize(inputs_);
  if (n_inputs == 0) return;
  const SymmetricEigen eigen = symmetric_eigen(covariance(x), n_inputs);
  const double least = kLeastVariance * eigen.values.front();
  while (size_ < std::min(most, n_inputs) &&
         eigen.values[static_cast<std::size_t>(size_)] > least) {
    ++size_;
  }
  variances_.assign(eigen.values.begin(), eigen.values.begin() + size_);
  stride_ = whole_panels(size_);
  factors_.assign(static_cast<std::size_t>(n_inputs * stride_), 0);
  for (std::int64_t k = 0; k < size_; ++k) {
    const std::span loadings(eigen.vectors.data() + k * n_inputs,
                             static_cast<std::size_t>(n_inputs));
    const double scale = sign_of(loadings) / std::sqrt(eigen.values[static_cast<std::size_t>(k)]);
    for (std::int64_t i = 0; i < n_inputs; ++i) {
      factors_[static_cast<std::size_t>(i * stride_ + k)] =
          loadings[static_cast<std::size_t>(i)] * scale;
    }
  }
}

void PrincipalComponents::add_input(std::int64_t position, double level,
                                    const std::vector<double>& column) {
  const auto scale = ColumnTransform::scale_of(column);
  if (scale.inverse != 0) inputs_.push_back({position, level, scale});
}

void PrincipalComponents::choose_inputs(const Tensor& x, std::span<const std::int64_t> positions,
                                        const tables::Features& features) {
  const auto n_categorical = std::ranges::count_if(
      positions, [&](std::int64_t position) { return features.is_categorical(position); });
  const auto most_levels =
      std::clamp<std::int64_t>(256 / std::max<std::int64_t>(n_categorical, 1), 2, 32);
  for (const std::int64_t position : positions) {
    const std::vector<double> column = column_values(x, position);
    if (!features.is_categorical(position)) {
      add_input(position, kNumber, column);
      continue;
    }
    for (const double level : frequent_levels(column, static_cast<std::size_t>(most_levels))) {
      std::vector<double> indicator = column;
      for (double& value : indicator) {
        if (!std::isnan(value)) value = value == level ? 1 : 0;
      }
      add_input(position, level, indicator);
    }
  }
}

std::vector<double> PrincipalComponents::covariance(const Tensor& x) const {
  const std::int64_t n_inputs = std::ssize(inputs_);
  const std::int64_t line = whole_panels(n_inputs);
  const std::int64_t n_rows = x.size(0);
  std::vector<double> made(static_cast<std::size_t>(n_inputs * n_inputs), 0);
  std::vector<double> z(static_cast<std::size_t>(kRowsTogether * line), 0);
  for (std::int64_t first = 0; first < n_rows; first += kRowsTogether) {
    const std::int64_t count = std::min(kRowsTogether, n_rows - first);
    for (std::int64_t row = 0; row < count; ++row) {
      const double* cells = x.data_as<double>() + (first + row) * x.size(1);
      double* to = z.data() + row * line;
      for (const Input& input : inputs_) *to++ = input(cells[input.position]);
    }
    const auto panels = Panels<double>::of_lines(z.data(), line);
    kernels::cpu::multiply<double>({n_inputs, n_inputs, count, n_inputs, true}, panels, panels,
                                   made.data());
  }
  for (double& value : made) value /= static_cast<double>(n_rows);
  return made;
}

std::vector<double> PrincipalComponents::project(const double* x, std::int64_t n_features,
                                                 std::span<const std::int64_t> rows) const {
  std::vector<double> out(rows.size() * static_cast<std::size_t>(size_));
  const auto factors = Panels<double>::of_lines(factors_.data(), stride_);
  const std::int64_t n_inputs = std::ssize(inputs_);
  parallel_for(std::ssize(rows), kRowsTogether, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> z(static_cast<std::size_t>(n_inputs * kRowsTogether), 0);
    for (std::int64_t first = begin; first < end; first += kRowsTogether) {
      const std::int64_t count = std::min(kRowsTogether, end - first);
      for (std::int64_t row = 0; row < count; ++row) {
        const double* cells = x + rows[static_cast<std::size_t>(first + row)] * n_features;
        double* to = z.data() + row;
        for (const Input& input : inputs_) {
          *to = input(cells[input.position]);
          to += kRowsTogether;
        }
      }
      double* here = out.data() + first * size_;
      kernels::cpu::multiply<double>({count, size_, n_inputs, size_, false},
                                     Panels<double>::of_lines(z.data(), kRowsTogether), factors,
                                     here);
      for (double* value = here; value != here + count * size_; ++value) {
        *value = std::clamp(*value, -kMostDeviations, kMostDeviations);
      }
    }
  });
  return out;
}

}  // namespace causeway::models
