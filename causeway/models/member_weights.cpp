#include "causeway/models/member_weights.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/models/ensemble.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr double kPrior = 10;  // rows that the weights before the fit count as
constexpr int kRounds = 500;

}  // namespace

const char* to_string(MemberWeights weights) {
  switch (weights) {
    case MemberWeights::equal: return "equal";
    case MemberWeights::fitted: return "fitted";
    default: return "auto";
  }
}

MemberWeights parse_member_weights(const std::string& name) {
  using enum MemberWeights;
  for (const MemberWeights each : {automatic, equal, fitted}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::invalid_argument, kTabularPredictor,
       fmt::format("member weights {}: expected auto, equal or fitted", shown(name)));
}

std::vector<double> weights_of_least_squares(std::span<const double> predictions,
                                             std::span<const double> targets,
                                             const std::vector<double>& before) {
  const std::size_t n_rows = targets.size();
  const std::size_t n_members = before.size();
  std::vector<double> weights = before;
  const auto prediction = [&](std::size_t row, std::size_t i) {
    return predictions[row * n_members + i];
  };
  std::vector<double> errors(n_rows);         // of the weighted mean
  std::vector<double> of_members(n_members);  // the squared error of each member
  double of_mean = 0;                         // with the weights before
  for (std::size_t row = 0; row < n_rows; ++row) {
    errors[row] = -targets[row];
    for (std::size_t i = 0; i < n_members; ++i) {
      errors[row] += before[i] * prediction(row, i);
      of_members[i] += std::pow(prediction(row, i) - targets[row], 2);
    }
    of_mean += errors[row] * errors[row];
  }
  // What a row counts: the error of the median member, as a few bad ones make the mean bad.
  const auto median = of_members.begin() + static_cast<std::ptrdiff_t>((n_members - 1) / 2);
  std::ranges::nth_element(of_members, median);
  const double error = std::min(of_mean, *median);
  const double pull = kPrior * error / static_cast<double>(std::max<std::size_t>(n_rows, 1));
  std::vector<double> slopes(n_members);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < n_members; ++i) slopes[i] = pull * (weights[i] - before[i]);
    for (std::size_t row = 0; row < n_rows; ++row) {
      for (std::size_t i = 0; i < n_members; ++i) slopes[i] += errors[row] * prediction(row, i);
    }
    // Moves weight from the member where it costs most to the one where it gains most.
    std::size_t to = 0;
    std::size_t from = n_members;
    for (std::size_t i = 0; i < n_members; ++i) {
      if (slopes[i] < slopes[to]) to = i;
      if (weights[i] > 0 && (from == n_members || slopes[i] > slopes[from])) from = i;
    }
    double curve = 2 * pull;
    for (std::size_t row = 0; row < n_rows; ++row) {
      curve += std::pow(prediction(row, to) - prediction(row, from), 2);
    }
    if (!(slopes[from] > slopes[to] && curve > 0)) break;
    const double moved = std::min((slopes[from] - slopes[to]) / curve, weights[from]);
    weights[to] += moved;
    weights[from] -= moved;
    for (std::size_t row = 0; row < n_rows; ++row) {
      errors[row] += moved * (prediction(row, to) - prediction(row, from));
    }
  }
  return weights;
}

std::vector<double> weights_of_most_likelihood(std::span<const double> probabilities,
                                               std::size_t n_members) {
  constexpr double kLeast = 1e-9;  // a member may be sure and wrong
  const std::size_t n_rows = probabilities.size() / n_members;
  std::vector<double> weights(n_members, 1 / static_cast<double>(n_members));
  std::vector<double> shares(n_members);
  for (int round = 0; round < kRounds; ++round) {  // expectation maximisation
    std::ranges::fill(shares, kPrior / static_cast<double>(n_members));
    for (std::size_t row = 0; row < n_rows; ++row) {
      const double* of = probabilities.data() + row * n_members;
      double sum = 0;
      for (std::size_t i = 0; i < n_members; ++i) sum += weights[i] * std::max(of[i], kLeast);
      for (std::size_t i = 0; i < n_members; ++i)
        shares[i] += weights[i] * std::max(of[i], kLeast) / sum;
    }
    const double total = kPrior + static_cast<double>(n_rows);
    for (std::size_t i = 0; i < n_members; ++i) weights[i] = shares[i] / total;
  }
  return weights;
}

}  // namespace causeway::models
