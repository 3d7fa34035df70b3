#include "causeway/models/column_transform.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/models/golden_section.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr std::size_t kMostFitted = 512;  // values to which an exponent is fitted
constexpr double kFar = 1e-8;             // a deviation relative to the mean that is small
constexpr double kRounding = 4e-16;       // one that comes from rounding

double yeo_johnson(double z, double exponent) {
  if (z >= 0) {
    if (std::fabs(exponent) < 1e-9) return std::log1p(z);
    return std::expm1(exponent * std::log1p(z)) / exponent;
  }
  const double other = 2 - exponent;
  if (std::fabs(other) < 1e-9) return -std::log1p(-z);
  return -std::expm1(other * std::log1p(-z)) / other;
}

double inverse_yeo_johnson(double made, double exponent) {
  const double part = made >= 0 ? exponent : 2 - exponent;
  const double size = std::fabs(made);
  if (std::fabs(part) < 1e-9) return std::copysign(std::expm1(size), made);
  // log1p is NaN below -1, where no value has this power.
  const double grown = part * size > -1 ? std::expm1(std::log1p(part * size) / part)
                                        : std::numeric_limits<double>::infinity();
  return std::copysign(grown, made);
}

// Every k-th of the values, at most kMostFitted of them.
std::vector<double> thinned(const std::vector<double>& values) {
  const std::size_t step = (values.size() + kMostFitted - 1) / kMostFitted;
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += step) kept.push_back(values[i]);
  return kept;
}

// The exponent at which the transformed values are most likely normal, by golden section.
double likeliest_exponent(const std::vector<double>& values) {
  const std::vector<double> z = thinned(values);
  double jacobian = 0;
  for (const double value : z) jacobian += std::copysign(std::log1p(std::fabs(value)), value);
  std::vector<double> made(z.size());
  return least_argument(-3, 5, 24, [&](double exponent) {
    std::transform(z.begin(), z.end(), made.begin(),
                   [&](double value) { return yeo_johnson(value, exponent); });
    const double deviation = ColumnTransform::scale_of(made).deviation();
    const auto n = static_cast<double>(z.size());
    return n * std::log(std::max(deviation, 1e-300)) - (exponent - 1) * jacobian;
  });
}

}  // namespace

const char* to_string(Transform transform) {
  switch (transform) {
    case Transform::none: return "none";
    case Transform::power: return "power";
    case Transform::quantile: return "quantile";
    case Transform::components: return "components";
  }
  return "";
}

Transform parse_transform(const std::string& name) {
  for (const Transform each :
       {Transform::none, Transform::power, Transform::quantile, Transform::components}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::invalid_argument, "tabular predictor",
       fmt::format("transform {}: expected none, power, quantile or components", shown(name)));
}

std::vector<double> column_values(const Tensor& x, std::int64_t position) {
  return x.select(1, position).contiguous().to_vector<double>();
}

// Of values far from 0, where sums lose what the values differ in: by their differences to one.
ColumnTransform::Scale ColumnTransform::scale_far_from_zero(std::span<const double> values) {
  const double origin = *std::ranges::find_if(values, [](double v) { return std::isfinite(v); });
  std::vector<double> differences(values.begin(), values.end());
  for (double& value : differences) value -= origin;
  const Scale scale = scale_of(differences);
  const bool varies = scale.deviation() > kRounding * std::fabs(origin);
  return {origin + scale.mean, varies ? scale.inverse : 0};
}

// Values are scaled by a power of two, so that squares neither overflow nor underflow.
ColumnTransform::Scale ColumnTransform::scale_of(std::span<const double> values) {
  double greatest = 0;
  double n = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    greatest = std::max(greatest, std::fabs(value));
    n += 1;
  }
  if (greatest == 0) return {};
  const int exponent = std::clamp(std::ilogb(greatest), -1000, 1000);
  const double scale = std::ldexp(1.0, -exponent);
  double sum = 0;
  for (const double value : values) {
    if (std::isfinite(value)) sum += value * scale;
  }
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value * scale - mean) * (value * scale - mean);
  }
  const double deviation = std::sqrt(squares / n);
  if (deviation <= kFar * std::fabs(mean)) return scale_far_from_zero(values);
  const double inverse = scale / deviation;
  return {mean / scale, std::isfinite(inverse) ? inverse : 0};
}

ColumnTransform::ColumnTransform(Transform kind, std::span<const double> values)
    : kind_(kind), raw_(scale_of(values)) {
  if (kind == Transform::none || is_constant()) return;
  std::vector<double> z;
  for (const double value : values) {
    if (std::isfinite(value)) z.push_back(raw_(value));
  }
  if (kind == Transform::power) {
    exponent_ = likeliest_exponent(z);
  } else {
    std::sort(z.begin(), z.end());
    ranks_ = RankScores(z);
  }
  std::transform(z.begin(), z.end(), z.begin(), [&](double value) { return transformed(value); });
  scale_ = scale_of(z);
}

double ColumnTransform::transformed(double z) const {
  return kind_ == Transform::power ? yeo_johnson(z, exponent_) : ranks_(z);
}

double ColumnTransform::operator()(double value) const {
  if (is_constant()) return 0;
  if (std::isnan(value)) return value;
  const double z = raw_(value);
  const double made = kind_ == Transform::none ? z : scale_(transformed(z));
  return std::clamp(made, -kMostDeviations, kMostDeviations);
}

double ColumnTransform::inverse(double z) const {
  const auto undo = [](const Scale& scale, double value) {
    return scale.mean + value * scale.deviation();
  };
  if (kind_ == Transform::none || is_constant()) return undo(raw_, z);
  return undo(raw_, inverse_yeo_johnson(undo(scale_, z), exponent_));
}

}  // namespace causeway::models
