// Weights of ensemble members, fitted to rows that they predicted without reading them. The weights
// are at least 0 and sum to 1. The weights before the fit count as much as 10 rows, so that few
// rows change little.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace causeway::models {

// Whether members count equally in the average or by fitted weights. automatic: fitted for
// regression, where members differ most, equal for classes.
enum class MemberWeights { automatic, equal, fitted };

const char* to_string(MemberWeights weights);
MemberWeights parse_member_weights(const std::string& name);

// The weights whose average of `predictions` (rows, members) has the least squared error. `before`
// are the weights before the fit.
std::vector<double> weights_of_least_squares(std::span<const double> predictions,
                                             std::span<const double> targets,
                                             const std::vector<double>& before);

// The weights whose average of `probabilities` (rows, members) of what happened is most likely;
// before the fit they are equal.
std::vector<double> weights_of_most_likelihood(std::span<const double> probabilities,
                                               std::size_t n_members);

}  // namespace causeway::models
